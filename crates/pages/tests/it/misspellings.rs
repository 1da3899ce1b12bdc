//! Misspelled words, and words that only look misspelled.

use pages::{KnownWords, Page, misspellings};

#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let page = Page::parse("a.md", text);
    let mut known = KnownWords::default();
    known.add_page(&page, text);
    let found = misspellings(&page, text, &known);
    let found = found.misspellings.iter().filter(|_| found.is_english);
    let found: Vec<_> = found.map(|m| (m.word.as_str(), m.correction.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn misspellings_in_prose_are_found() {
    check("You recieve it.", &[("recieve", "receive")]);
    check("Recieve it", &[("Recieve", "Receive")]);
    check("teh end of the file", &[("teh", "the")]);
    check("Use it. Recieve it.", &[("Recieve", "Receive")]);
    check("of it\n\n## Recieve\n\n- *Recieve*\n\n| Recieve |\n|---|\n", &[("Recieve", "Receive"); 3]);
    check("It is here.\nRecieve it", &[("Recieve", "Receive")]);
    check("the [seperate](x.md) page", &[("seperate", "separate")]);
    check("---\ntitle: Recieve it\nslug: recieve\n---\n", &[("Recieve", "Receive")]);
    check("the (recieve), seperate", &[("recieve", "receive"), ("seperate", "separate")]);
}

#[test]
fn text_that_is_not_prose_is_ignored() {
    for text in [
        "RECIEVE",
        "reCieve",
        "recieve_it",
        "recieve2",
        "`recieve`",
        "see https://a.b/recieve",
        "[x](recieve.md)",
        "me@recieve.com",
        "<a title=\"recieve\">",
        "recieve.md",
        "--recieve",
        "my-recieve-hook",
        "a/recieve",
        "recieve()",
        "```\nrecieve\n```\n",
        "the `recieve` option: recieve is a name here",
        "{{ recieve }}",
        "ärecieve",
        "---\ntags:\n  - recieve\n---\nthe text",
    ] {
        check(text, &[]);
    }
}

#[test]
fn a_misspelled_comment_in_a_code_block_does_not_hide_misspellings_in_prose() {
    let wrong = &[("recieve", "receive")][..];
    for code in [
        "# You recieve the mail.",
        "// recieve it",
        "echo \"You will recieve mail\"",
        "run  # then recieve, later",
        "- You recieve: nothing",
    ] {
        check(&format!("You recieve the mail.\n\n```sh\n{code}\n```\n"), wrong);
    }
}

#[test]
fn an_identifier_in_a_code_block_is_a_name_in_prose() {
    for code in [
        "mail.recieve(1)",
        "recieve_mail",
        "mail --recieve",
        "recieve = true",
        "recieve: true",
        "  - recieve: 1",
        "{\"recieve\": 1}",
        "fetch('recieve')",
        "https://a.b/recieve/x",
    ] {
        check(&format!("You recieve the mail.\n\n```\nfirst\n{code}\n```\n"), &[]);
    }
    // Code that several blocks have is no slip, such as a command.
    check("You recieve the mail.\n\n```\nrecieve now\n```\n\nThen:\n\n```\nrecieve later\n```\n", &[]);
    check("You recieve the mail with the `recieve` command.", &[]);
}

#[test]
fn names_and_mentioned_words_are_ignored() {
    for text in [
        "Thanks to Santa Claus and the Recieve company.",
        "This is by\nRecieve and others.",
        "the header \"recieve\" is old",
        "the ‘recieve’ of it",
        "recieve is a typo of receive, and it is old",
        "the d'recieve and the recieve's",
        "the recieve of [x](https://pypi.org/project/recieve/)",
        "the recieve of https://a.b/recieve",
        "the Gord, Juli, Benn, Sade, Winn, Didi, hass, zink, udid, styl, modul, claus, allo and helo",
    ] {
        check(text, &[]);
    }
}

#[test]
fn a_short_page_must_be_clearly_english() {
    check("Recieve seperate", &[]);
    check("Der Modul, die Informations und Serie.", &[]);
    check("the légales recieve", &[]);
    check("the recieve", &[("recieve", "receive")]);
}

#[test]
fn a_page_in_another_language_is_ignored() {
    let french = "Vous pouvez recieve une adresse seperate dans le fichier de configuration du projet. ";
    check(&french.repeat(5), &[]);
    let english =
        "You can send the file to the server with this option and then it is kept, and you recieve a note. ";
    check(&english.repeat(2), &[("recieve", "receive"), ("recieve", "receive")]);
}
