//! Describes an operation: its parameters, its body, its responses and its errors.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use store::StoreError;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::parameters::{header, path_parameters};
use super::response::{Response, error_responses};
use crate::error::ApiError;

/// The schemas of all bodies, by name.
#[derive(Default)]
pub(crate) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// `exact`: the server sends no other fields than these.
    pub(super) fn add(&mut self, schemas: Vec<NamedSchema>, exact: bool) {
        for (name, schema) in schemas {
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

pub(super) type NamedSchema = (String, RefOr<Schema>);

/// The schema of a type, and those of the types that it contains.
pub(super) fn named_schemas<T: ToSchema>() -> Vec<NamedSchema> {
    let mut all = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut all);
    all
}

pub(super) fn schema_reference<T: ToSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
}

pub(super) fn database_error() -> ApiError {
    StoreError::Database(String::new()).into()
}

/// The description of an operation. Its methods add to the description.
pub(crate) struct Operation {
    id: &'static str,
    summary: &'static str,
    description: &'static str,
    tag: &'static str,
    needs_key: bool,
    parameters: Vec<Value>,
    body: Option<Value>,
    schemas: Vec<NamedSchema>,
    responses: Vec<Response>,
    errors: Vec<ApiError>,
}

impl Operation {
    pub(super) fn new(tag: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            description: "",
            tag,
            needs_key: false,
            parameters: Vec::new(),
            body: None,
            schemas: Vec::new(),
            responses: Vec::new(),
            errors: vec![ApiError::Internal(anyhow::anyhow!("")), ApiError::Busy],
        }
    }

    pub(super) fn description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Needs an API key, and a project that the key can see.
    pub(super) fn needs_key(mut self) -> Self {
        self.needs_key = true;
        self.errors([
            ApiError::Unauthorized,
            ApiError::AddressNotAllowed,
            ApiError::NoSuchProject,
            database_error(),
        ])
    }

    /// Needs an API key with the scope `write`.
    pub(super) fn needs_write_scope(self) -> Self {
        self.errors([ApiError::ScopeTooSmall])
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
            "A request with the same key and body within 24 hours gets the same response.",
        ))
        .errors([ApiError::KeyReused])
    }

    /// A JSON body.
    pub(super) fn body<T: ToSchema>(self, example: Value) -> Self {
        let content =
            json!({ "application/json": { "schema": schema_reference::<T>(), "example": example } });
        self.body_as::<T>(content, "2 MiB", "application/json")
    }

    /// A body with one of several media types.
    pub(super) fn body_as<T: ToSchema>(mut self, content: Value, max: &str, kinds: &'static str) -> Self {
        self.schemas.extend(named_schemas::<T>());
        self.untyped_body(content, max, kinds)
    }

    /// A body whose schema isn't defined by this API. Adds the errors of reading a body.
    pub(super) fn untyped_body(mut self, content: Value, max: &str, kinds: &'static str) -> Self {
        self.body = Some(json!({ "required": true, "content": content }));
        let too_large = ApiError::TooLarge(format!("the body must be at most {max}"));
        let wrong_type = ApiError::UnsupportedMediaType(kinds);
        let invalid = ApiError::invalid(
            "invalid_body",
            "not valid JSON: EOF while parsing an object at line 1 column 1",
        );
        self.errors([invalid, too_large, wrong_type, ApiError::TooSlow])
    }

    pub(super) fn response(mut self, response: Response) -> Self {
        self.responses.push(response);
        self
    }

    pub(super) fn errors(mut self, errors: impl IntoIterator<Item = ApiError>) -> Self {
        self.errors.extend(errors);
        self
    }

    pub(super) fn describe(self, path: &str, schemas: &mut Schemas) -> Value {
        schemas.add(self.schemas, false);
        schemas.add(named_schemas::<wire::Error>(), true);
        let mut responses = Map::new();
        for response in self.responses {
            let (status, response) = response.describe(schemas);
            responses.insert(status, response);
        }
        responses.extend(error_responses(&self.errors));
        let mut parameters = path_parameters(path);
        parameters.extend(self.parameters);
        let mut described = json!({
            "operationId": self.id,
            "summary": self.summary,
            "tags": [self.tag],
            "responses": responses,
            "security": if self.needs_key { json!([{ "key": [] }]) } else { json!([]) },
        });
        let optional = [
            ("description", json!(self.description), !self.description.is_empty()),
            ("parameters", json!(parameters), !parameters.is_empty()),
            ("requestBody", json!(self.body), self.body.is_some()),
        ];
        for (name, value, _) in optional.into_iter().filter(|(_, _, is_set)| *is_set) {
            described[name] = value;
        }
        described
    }
}
