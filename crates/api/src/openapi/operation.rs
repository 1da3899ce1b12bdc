//! One operation: what it takes, what it answers, what it refuses.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use store::StoreError;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::answer::{Answer, refusals};
use super::parameters::{header, in_path};
use crate::error::ApiError;

/// The types that operations speak of, by name.
#[derive(Default)]
pub(crate) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// `exact`: the server writes these fields and no others.
    pub(super) fn add(&mut self, types: Vec<Named>, exact: bool) {
        for (name, schema) in types {
            let mut schema = json!(schema);
            if exact && schema["type"] == "object" && schema.get("additionalProperties").is_none() {
                schema["additionalProperties"] = json!(false);
            }
            self.0.insert(name, schema);
        }
    }

    pub(super) fn components(&self) -> Value {
        json!(self.0)
    }
}

pub(super) type Named = (String, RefOr<Schema>);

/// A type and those that it is made of.
pub(super) fn types<T: ToSchema>() -> Vec<Named> {
    let mut all = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut all);
    all
}

pub(super) fn reference<T: ToSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
}

pub(super) fn store_down() -> ApiError {
    ApiError::Unavailable(StoreError::Database(String::new()))
}

pub(crate) struct Operation {
    id: &'static str,
    summary: &'static str,
    description: &'static str,
    tag: &'static str,
    key: bool,
    parameters: Vec<Value>,
    body: Option<Value>,
    types: Vec<Named>,
    answers: Vec<Answer>,
    refuses: Vec<ApiError>,
}

impl Operation {
    pub(super) fn new(tag: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            description: "",
            tag,
            key: false,
            parameters: Vec::new(),
            body: None,
            types: Vec::new(),
            answers: Vec::new(),
            refuses: vec![ApiError::Internal(anyhow::anyhow!("")), ApiError::Busy],
        }
    }

    pub(super) fn about(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Needs an API key, and a project that the key may see.
    pub(super) fn with_key(mut self) -> Self {
        self.key = true;
        self.refuses([
            ApiError::Unauthorized,
            ApiError::AddressNotAllowed,
            ApiError::NoSuchProject,
            store_down(),
        ])
    }

    /// The key's scope must be write.
    pub(super) fn writes(self) -> Self {
        self.refuses([ApiError::ScopeTooSmall])
    }

    pub(super) fn parameter(mut self, parameter: Value) -> Self {
        self.parameters.push(parameter);
        self
    }

    pub(super) fn idempotent(self) -> Self {
        let key = json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\t -~]*[!-~][\\t -~]*$" });
        self.parameter(header(
            "Idempotency-Key",
            key,
            "The same key and body within 24 hours give the same answer.",
        ))
        .refuses([ApiError::KeyReused])
    }

    /// A JSON body.
    pub(super) fn body<T: ToSchema>(self, example: Value) -> Self {
        let content = json!({ "application/json": { "schema": reference::<T>(), "example": example } });
        self.content::<T>(content, "2 MiB", "application/json")
    }

    /// A body in any of several forms; errors of reading it included.
    pub(super) fn content<T: ToSchema>(mut self, content: Value, most: &str, kinds: &'static str) -> Self {
        self.types.extend(types::<T>());
        self.untyped(content, most, kinds)
    }

    /// The same, of a body that somebody else describes.
    pub(super) fn untyped(mut self, content: Value, most: &str, kinds: &'static str) -> Self {
        self.body = Some(json!({ "required": true, "content": content }));
        let too_large = ApiError::TooLarge(format!("the body must be at most {most}"));
        let wrong_type = ApiError::UnsupportedMediaType(kinds);
        let invalid = ApiError::invalid(
            "invalid_body",
            "not valid JSON: EOF while parsing an object at line 1 column 1",
        );
        self.refuses([invalid, too_large, wrong_type, ApiError::TooSlow])
    }

    pub(super) fn answers(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    pub(super) fn refuses(mut self, errors: impl IntoIterator<Item = ApiError>) -> Self {
        self.refuses.extend(errors);
        self
    }

    pub(super) fn describe(self, path: &str, schemas: &mut Schemas) -> Value {
        schemas.add(self.types, false);
        schemas.add(types::<wire::Error>(), true);
        let mut responses = Map::new();
        for answer in self.answers {
            let (status, response) = answer.describe(schemas);
            responses.insert(status, response);
        }
        responses.extend(refusals(&self.refuses));
        let mut parameters = in_path(path);
        parameters.extend(self.parameters);
        let mut described = json!({
            "operationId": self.id,
            "summary": self.summary,
            "tags": [self.tag],
            "responses": responses,
            "security": if self.key { json!([{ "key": [] }]) } else { json!([]) },
        });
        let optional = [
            ("description", json!(self.description), !self.description.is_empty()),
            ("parameters", json!(parameters), !parameters.is_empty()),
            ("requestBody", json!(self.body), self.body.is_some()),
        ];
        for (name, value, _) in optional.into_iter().filter(|(_, _, there)| *there) {
            described[name] = value;
        }
        described
    }
}
