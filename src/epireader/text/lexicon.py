"""The words and signs English spells in a way of its own: abbreviations, contractions, Treebank names of signs.

The lists are words between spaces.
"""

TITLES = """
    Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Hon St Ste Mt Ft Pres Gov Sen Rep
    Capt Col Gen Lt Lieut Maj Sgt Cpl Pvt Brig Adm Cmdr Insp Supt Atty Asst Dept Ave Blvd Rd
    Alex Wm Jos Chas Geo Thos cf vs viz
"""
"""Abbreviations that stand before a name: their period is never the end of a sentence."""

ENDABLE = """
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thurs Fri
    Ala Ariz Calif Colo Conn Fla Ga Kans Ky Md Mich Minn Mo Mont Neb Nev Okla Penn Tenn Va Vt Wis Wyo
    Inc Co Ltd Bros Assn Univ Jr Esq Ph.D etc al seq
"""
"""Abbreviations that may end a sentence: they do where a capital follows."""

ENDABLE_CAPITALISED = "Sat Ark Del Ill La Mass Miss Ore Pa Tex Wash"
"""Abbreviations of the same sort that in lower case are common words."""

BEFORE_NUMBERS = "No Nos ca fig figs sec art p pp op vol vols ch chap"
"""Abbreviations only where a number follows; elsewhere they are words."""

SENTENCE_OPENERS = """
    A After All An And As At Before But By Did Do For From Had Has He Her Here His How I If In Is It Its My No Not Now
    Of On Once One Or Our She So Some That The Their Then There These They This Those Though To Under Was We Were What
    When Where Which While Who Whose Why Will With Yet You Your
"""
"""Words that, after initials, show that the period of the initials ended a sentence: the closed classes."""

CLIPPED = "cap'n ol' somethin' li'l e'er ev'ry c'mon l' d' j'"
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
