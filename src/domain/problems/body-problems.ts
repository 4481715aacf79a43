// Problem types of bodies and query parameters: JSON that cannot be read, and fields that are not
// accepted. problems.ts includes them in the full table.
import { invalid, type ProblemDefinition } from './problem-definition.ts'

export const bodyProblems = {
  'malformed-json': invalid(
    400,
    'The body is not JSON',
    'The body must be one JSON object in UTF-8 (RFC 8259). Nothing was executed.',
  ),
  'duplicate-member': invalid(
    400,
    'A JSON member is repeated',
    'An object contains the same member twice. JSON parsers disagree on which one counts, so the body is refused. Nothing was executed.',
  ),
  'nesting-too-deep': invalid(
    400,
    'The JSON is nested too deeply',
    'Objects and arrays may be nested at most 20 levels deep. Nothing was executed.',
  ),
  'forbidden-character': invalid(
    400,
    'The JSON contains a forbidden character',
    'Strings must be well-formed Unicode without U+0000 (NUL) and without lone surrogates. Nothing was executed.',
  ),
  'invalid-query': invalid(
    400,
    'A query parameter is invalid',
    'A parameter is unknown, repeated or out of range. The detail names it; for an unknown one, it lists those that exist.',
  ),
  'body-too-large': invalid(
    413,
    'The body is too large',
    'A body may have at most 65,536 bytes, an event of the provider 1,048,576. Nothing was executed.',
  ),
  'unsupported-content-type': invalid(
    415,
    'Unsupported content type',
    'Send `Content-Type: application/json`, in UTF-8. Nothing was executed.',
  ),
  'unsupported-content-encoding': invalid(
    415,
    'Unsupported content encoding',
    'Compressed bodies are not accepted. Send the body without a content encoding. Nothing was executed.',
  ),
  'unknown-field': invalid(
    422,
    'A field is unknown',
    'The body contains a field that this operation does not accept. Nothing was executed, and the idempotency key is not used up.',
  ),
  'invalid-amount': invalid(
    422,
    'The amount is invalid',
    'An amount is a JSON integer in minor units (cents), from 1 to 99999999 (in some currencies more: see docs/currencies.md), in digits only: 1e3 and 1000.0 are refused. In some currencies it must be a multiple of 10 or 100, because the provider accepts no fractions there. Nothing was executed, and the idempotency key is not used up.',
  ),
  'amount-too-small': invalid(
    422,
    'The amount is too small',
    'The provider charges no less than a minimum, for example 0.50 usd or 50 jpy. `errors` states the minimum of the currency, and openapi.yaml lists all of them. Nothing was executed, and the idempotency key is not used up.',
  ),
  'capture-exceeds-authorization': invalid(
    422,
    'The capture exceeds the authorization',
    'A capture can take at most the amount of the payment. Nothing was executed, and the idempotency key is not used up.',
  ),
  'unknown-currency': invalid(
    422,
    'The currency is unknown',
    'A currency is a three-letter ISO 4217 code in lower case, for example `usd`. Nothing was executed, and the idempotency key is not used up.',
  ),
  'invalid-field': invalid(
    422,
    'A field is invalid',
    'A field is missing, or its value has the wrong type, length or format. `errors` lists each such field. Nothing was executed, and the idempotency key is not used up.',
  ),
  'webhook-url-refused': invalid(
    422,
    'The webhook URL is refused',
    'A webhook URL must use https, must contain no credentials, no fragment and no control characters, and must lead to a public internet address. Nothing was executed, and the idempotency key is not used up.',
  ),
  'card-number-refused': invalid(
    422,
    'A card number was sent',
    'The request contains text that looks like a card number. Card numbers must never reach this API: send a payment method id of the provider instead. Nothing was executed, stored or logged.',
  ),
  'secret-refused': invalid(
    422,
    'A secret was sent',
    'The request contains an API key, an operator key, a webhook secret or an encryption key, as text. Text is stored and shown to people, in events and in webhooks. Nothing was executed, stored or logged. Replace the secret if others may have seen it.',
  ),
} as const satisfies Record<string, ProblemDefinition>
