//! No edit is lost without a word, and no call is made that the model only quotes.

use super::*;

/// An edit behind `finish` is not lost, whether it's a call or text.
#[tokio::test]
async fn edits_of_an_answer_are_made_before_its_finish() {
    let done = || ("finish", json!({ "title": "Say two minutes", "summary": "As asked." }));
    run(vec![calls(&[done(), ("edit", edit_arguments())])]).await.changes(1);
    let text =
        format!("<tool_call>\n{}\n</tool_call>", json!({ "name": "edit", "arguments": edit_arguments() }));
    let (name, arguments) = done();
    let both = answer_with(&text, &[(name, arguments.to_string())], "tool_calls");
    run(vec![both]).await.changes(1);
}

/// The server recognizes the model's calls. So a call in its text is an example.
#[tokio::test]
async fn a_call_that_a_model_with_native_calls_quotes_is_not_made() {
    let example = json!({ "name": "delete", "arguments": { "path": "docs/faq.md" } });
    for text in [format!("I left this example alone:\n\n{example}\n\nDone."), format!("> {example}")] {
        let ran = run(vec![edit(), says(&text), finish()]).await;
        assert!(!ran.changes(3).result.diff.contains("faq"), "{}", ran.result.diff);
    }
}

/// The change lacks something that the model wanted to make: the reviewer must know.
#[tokio::test]
async fn a_change_that_lacks_an_edit_has_a_note() {
    let missed = || calls(&[("edit", json!({ "path": "docs/faq.md", "old": "Never there.", "new": "x" }))]);
    let ran = run(vec![edit(), missed(), finish()]).await;
    let note = "An edit of the model failed. Review whether the change is complete.";
    assert_eq!(ran.changes(3).result.outcome.as_ref().unwrap().notes, [note]);
    let text = || says("All done.");
    run(vec![edit(), missed(), text(), text(), text()]).await.fails("the model answers with text", 5);
}

#[tokio::test]
async fn any_unknown_tool_that_may_edit_counts_as_a_failed_edit() {
    for (name, arguments) in [
        ("replace_in_file", json!({ "path": "docs/setup.md", "find": OLD, "replace": NEW })),
        ("rename_file", json!({ "from": "docs/setup.md", "to": "docs/start.md" })),
        ("insert", json!({ "path": "docs/setup.md", "line": 1, "string": NEW })),
        ("apply_patch", json!({ "input": "*** Begin Patch" })),
    ] {
        run(vec![calls(&[(name, arguments)]), finish()])
            .await
            .fails("nothing was changed, because the model's edits failed: there is no tool", 2);
    }
}
