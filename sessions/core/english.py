"""Word lists of everyday English that search and summaries share; nothing about any one subject."""

_STOP_WORDS = """
a an the and or but if then so of to in on at by for with from as is are was were be been being am do
does did doing done have has had having i me my mine myself we us our ours you your yours he him his she
her hers it its they them their theirs this that these those there here what which who whom whose when
where why how not no nor can could will would shall should may might must just also too very really about
into over after before again more most some any all both each few other than up down out off own same s t
re ve ll d m don didn doesn isn wasn aren weren won wouldn couldn shouldn haven hasn hadn im ive id ill
youre thats yeah yes oh hey hi hello thanks thank get got
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
