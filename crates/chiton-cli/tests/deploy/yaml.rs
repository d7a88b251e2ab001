//! YAML as values, by the parser that the program has. Kubernetes reads the same values.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// The only document of a text.
pub fn read(text: &str) -> Value {
    let mut reader = Reader { parser: Parser::new_from_str(text), anchors: BTreeMap::new() };
    let mut documents = Vec::new();
    loop {
        match reader.next() {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            event => documents.push(reader.value(event)),
        }
    }
    assert_eq!(documents.len(), 1, "a file has one document");
    documents.remove(0)
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// What an alias stands for.
    anchors: BTreeMap<usize, Value>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Event<'a> {
        self.parser.next().expect("the text has an end").expect("it is YAML").0
    }

    fn value(&mut self, event: Event<'a>) -> Value {
        let (anchor, value) = match event {
            Event::Alias(anchor) => return self.anchors[&anchor].clone(),
            Event::Scalar(text, style, anchor, _) => (anchor, scalar(&text, style)),
            Event::SequenceStart(anchor, _) => (anchor, self.sequence()),
            Event::MappingStart(anchor, _) => (anchor, self.mapping()),
            other => panic!("{other:?} is not a value"),
        };
        self.anchors.insert(anchor, value.clone());
        value
    }

    fn sequence(&mut self) -> Value {
        let mut items = Vec::new();
        loop {
            match self.next() {
                Event::SequenceEnd => return items.into(),
                event => items.push(self.value(event)),
            }
        }
    }

    fn mapping(&mut self) -> Value {
        let mut fields = Map::new();
        loop {
            let key = match self.next() {
                Event::MappingEnd => return fields.into(),
                Event::Scalar(key, ..) => key.into_owned(),
                other => panic!("{other:?} is not a key"),
            };
            let event = self.next();
            let value = self.value(event);
            assert!(fields.insert(key.clone(), value).is_none(), "the key '{key}' is there twice");
        }
    }
}

/// Without quotes, a scalar is a number or a truth value where it looks like one.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        _ if style != ScalarStyle::Plain => text.into(),
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
    }
}
