"""Word lists of everyday English that search and summaries share; nothing about any one subject."""

import re

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

_IRREGULAR_FORMS = """
be:been,being,was,were,am,is,are become:became begin:began,begun bite:bit,bitten blow:blew,blown
break:broke,broken bring:brought build:built buy:bought catch:caught choose:chose,chosen come:came
cut:cutting deal:dealt dig:dug draw:drew,drawn dream:dreamt drink:drank,drunk drive:drove,driven
eat:ate,eaten fall:fell,fallen feed:fed feel:felt fight:fought find:found fly:flew,flown
forget:forgot,forgotten freeze:froze,frozen give:gave,given go:went,gone,goes grow:grew,grown hang:hung
hear:heard hide:hid,hidden hold:held keep:kept know:knew,known lead:led learn:learnt leave:left lend:lent
lose:lost make:made mean:meant meet:met pay:paid ride:rode,ridden ring:rang,rung rise:rose,risen run:ran
see:saw,seen seek:sought sell:sold send:sent shake:shook,shaken shine:shone shoot:shot show:shown
sing:sang,sung sink:sank,sunk sit:sat sleep:slept speak:spoke,spoken spend:spent stand:stood
steal:stole,stolen stick:stuck strike:struck swear:swore swim:swam,swum take:took,taken teach:taught
tear:tore,torn tell:told think:thought throw:threw,thrown understand:understood wake:woke,woken
wear:wore,worn win:won write:wrote,written child:children foot:feet goose:geese man:men mouse:mice
person:people tooth:teeth woman:women wife:wives life:lives knife:knives leaf:leaves shelf:shelves
half:halves
"""
IRREGULAR_FORMS = {
    form: base
    for base, forms in (entry.split(":") for entry in _IRREGULAR_FORMS.split())
    for form in forms.split(",")
}

_TIME_WORDS = """
today yesterday tomorrow tonight last next ago week weekend month year since recently january february march
april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
TIME_EXPRESSION = re.compile(rf"\d|\b(?:{'|'.join(_TIME_WORDS.split())})\b", re.IGNORECASE)
FIRST_PERSON = re.compile(r"\b(?:I|I'm|I’m|I've|I’ve|my|My|me|we|We|our|Our)\b")
SECOND_PERSON = re.compile(r"\b(?:you|your|yours|you're|you’re)\b", re.IGNORECASE)
PAST_FORMS = frozenset(form for form in IRREGULAR_FORMS if not form.endswith("es"))

# Words of agreement, praise and greeting: they carry a conversation along and tell nothing.
_SMALL_TALK = """
absolutely amazing appreciate awesome beautiful believe best bye care congrats congratulations cool
definitely exactly excited exciting fantastic fun glad good great haha happy hello hey hi hope incredible
inspired inspiring keep lol love loved lovely luck nice ok okay proud really see sorry sound sounds
support sure take thank thanks totally welcome wonderful wow yeah
"""
SMALL_TALK = frozenset(_SMALL_TALK.split())
