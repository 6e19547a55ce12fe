"""The words and signs English spells in a way of its own: abbreviations, contractions, Treebank names of signs.

The lists are words between spaces. They follow what Stanford CoreNLP knew when the Children's Book Test was made.
"""

TITLES = """
    Mr Mrs Ms Messrs Mme Mlle Msgr Dr Drs Prof Profs Rev Hon St Ste Sr Rt Ave Mt Ft Pres Gov Govs Sen Sens Rep Reps
    Capt Col Gen Lt Lieut Maj Sgt Cpl Pvt Pfc Spc Sfc Brig Adm Cmdr Comdr Adj Adv Ens Insp Det Supt Supts
    Asst Assoc Atty Attys Invt Elec Natl Mfg Mtg Blvd Rd Dept Alex Wm Jos Cie Ph cf vs
"""
"""Abbreviations that stand before a name: their period is never the end of a sentence."""

ENDABLE = """
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thurs Fri
    Ala Ariz Calif Colo Conn Ct Dak Fla Ga Ind Kan Kans Ky Md Mich Minn Mo Mont Neb Nev Okla Penn Tenn Va Vt
    Wis Wisc Wyo Inc Co Cos Corp Pty Ptys Pte Ltd Plc Bancorp Bhd Assn Univ Intl Sys Bldg
    Jr Bros Esq Ed.D Ph.D etc al seq tel est ext sq
"""
"""Abbreviations that may end a sentence: they do where a capital follows."""

ENDABLE_CAPITALISED = "Az Ark Del Ill La Mass Miss Ore Pa Tex Wash"
"""Abbreviations of the same sort that in lower case are common words."""

BEFORE_NUMBERS = "No Nos ca fig figs prop sec secs sect sects art arts para paras pp op approx rs vol vols"
"""Abbreviations only where a number follows; elsewhere they are words."""

SENTENCE_OPENERS = """
    About According Additionally After An A As At But Earlier He Her Here However If In It Last Many More Mr. Ms. Now
    Once One Other Our She Since So Some Such That The Their Then There These They This We What When While Yet You
"""
"""Words that, after initials, show that the period of the initials ended a sentence."""

CLIPPED = "cap'n ol' somethin' li'l e'er ev'ry c'mon nat'l nor'easter l' d' j'"
"""Words with letters left out that no rule about apostrophes covers."""

JOINED_WORDS = {
    spelling: len(first)
    for first, second in [("can", "not"), ("gon", "na"), ("got", "ta"), ("lem", "me"), ("gim", "me"), ("wan", "na")]
    for spelling in (first + second, (first + second).capitalize(), (first + second).upper())
}
"""Words the Treebank writes as two, and where the second one starts."""

SIGNS = {
    "(": "-LRB-",
    ")": "-RRB-",
    "[": "-LSB-",
    "]": "-RSB-",
    "{": "-LCB-",
    "}": "-RCB-",
    '"': "''",
    **dict.fromkeys("“„«", "``"),
    **dict.fromkeys("”»", "''"),
    **dict.fromkeys("‘‚‛‹", "`"),
    **dict.fromkeys("’›´", "'"),
    **dict.fromkeys(["---", "----", "–", "—", "―"], "--"),
    "…": "...",
    "£": "#",
}
"""The Treebank form of a sign; a sign that is not here stands for itself."""
