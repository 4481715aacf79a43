// Draws invalid headers: API keys, idempotency keys, timestamps, body headers and malformed HTTP.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { isEvent, type Operation } from '../operations.ts'
import { CARD_NUMBERS, headerText, letters } from '../values.ts'
import { type Defect, defectChange, type DefectChange, type Parts, withHeader } from './fields.ts'

/** The values of a header that cause one of these problems. */
type BadValues = readonly [
  types: ProblemType | readonly ProblemType[],
  values: fc.Arbitrary<readonly string[]>,
]

/** Defects of one header, by their kinds. */
function defectsOf(
  name: string,
  applies: (operation: Operation) => boolean,
  rows: Readonly<Record<string, BadValues>>,
): Defect[] {
  return Object.entries(rows).map(([kind, [types, values]]) => ({
    kind,
    forOperation: (operation) =>
      applies(operation)
        ? values.map((lines): DefectChange => defectChange([types].flat(), withHeader(name, lines)))
        : undefined,
  }))
}

const isTenants = ({ access }: Operation) => access === 'tenant'
const isOperators = ({ access }: Operation) => access === 'operator'
const isKeyed = ({ isKeyed: keyed }: Operation) => keyed
/** `createPayment` with the used key would be a retry. */
const isNoRetry = ({ isKeyed: keyed, id }: Operation) => keyed && id !== 'createPayment'
const isAny = () => true

/** Letters only: a quote or a comma would have a meaning in these headers. */
const plain = letters(1, 20)
const notAscii = fc.integer({ min: 0x80, max: 0xff }).map((code) => String.fromCharCode(code))

const badAuthorization: fc.Arbitrary<readonly string[]> = fc.oneof(
  headerText(0, 60).map((text) => [text]),
  headerText(0, 60).map((text) => [`Bearer ${text}`]),
  letters(9, 200).map((text) => [`Bearer sk_test_${text}`]),
  letters(24, 200).map((text) => [`Bearer adm_${text}`]),
  fc.constantFrom(
    ['Bearer {{ended-key}}'],
    ['Basic {{tenant-key}}'],
    ['Bearer {{tenant-key}} '.concat('x')],
    ['Bearer {{tenant-key}}', 'Bearer {{tenant-key}}'],
    ['Bearer {{admin-key}}, Bearer {{admin-key}}'],
    ['{{tenant-key}}'],
  ),
)

const apiKeyDefects: readonly Defect[] = [
  ...defectsOf('authorization', isTenants, {
    'no API key': ['api-key-missing', fc.constant([])],
    'a wrong API key': [
      'api-key-invalid',
      fc.oneof(badAuthorization, fc.constant(['Bearer {{admin-key}}'])),
    ],
  }),
  {
    kind: 'an API key without the scope',
    forOperation(operation) {
      if (!isTenants(operation)) return undefined
      const key = operation.target.startsWith('/v1/events') ? '{{ledger-key}}' : '{{events-key}}'
      const change = withHeader('authorization', [`Bearer ${key}`])
      return fc.constant(defectChange(['scope-missing'], change))
    },
  },
  ...defectsOf('authorization', isOperators, {
    "a wrong operator's API key": [
      'operator-key-invalid',
      fc.oneof(badAuthorization, fc.constant(['Bearer {{tenant-key}}']), fc.constant([])),
    ],
  }),
]

const idempotencyKeyDefects: readonly Defect[] = [
  ...defectsOf('idempotency-key', isKeyed, {
    'no idempotency key': ['idempotency-key-missing', fc.constant([])],
    'an empty idempotency key': [
      'idempotency-key-empty',
      fc.constantFrom([''], [' '], ['\t '], ['""'], ['"";a']),
    ],
    'a long idempotency key': [
      'idempotency-key-too-long',
      fc
        .tuple(fc.integer({ min: 256, max: 8_000 }), fc.boolean())
        .map(([length, isQuoted]) => [
          isQuoted ? `"{{letters-${length}}}"` : `{{letters-${length}}}`,
        ]),
    ],
    'a malformed idempotency key': [
      'idempotency-key-malformed',
      fc.oneof(
        fc.tuple(plain, notAscii, headerText(0, 30)).map(([a, byte, b]) => [a + byte + b]),
        fc
          .tuple(plain, fc.constantFrom(' ', '\t', '  '), plain)
          .map(([a, gap, b]) => [a + gap + b]),
        fc
          .tuple(plain, fc.constantFrom('', '\\', '\\"', '\\n"', '"x', '""'))
          .map(([a, end]) => [`"${a}${end}`]),
        plain.map((name) => [`"a";${name.toUpperCase()}`]),
      ),
    ],
    'two idempotency keys': [
      'idempotency-key-repeated',
      fc.oneof(
        fc.array(plain, { minLength: 2, maxLength: 5 }),
        fc.tuple(plain, plain).map(([a, b]) => [`${a}, ${b}`]),
        fc.tuple(plain, plain).map(([a, b]) => [`"${a}","${b}"`]),
      ),
    ],
    'a card number as idempotency key': [
      'card-number-refused',
      fc
        .tuple(fc.constantFrom(...CARD_NUMBERS), letters(0, 20), letters(0, 20), fc.boolean())
        .map(([card, a, b, isQuoted]) => [isQuoted ? `"${a}${card}${b}"` : `${a}${card}${b}`]),
    ],
  }),
  ...defectsOf('idempotency-key', isNoRetry, {
    'an idempotency key of another request': [
      'idempotency-key-reused',
      fc.constantFrom(['{{used-key}}'], ['"{{used-key}}"']),
    ],
  }),
]

const timestampDefects: readonly Defect[] = [
  ...defectsOf('request-timestamp', isKeyed, {
    'an invalid timestamp': [
      'request-timestamp-invalid',
      fc.oneof(
        headerText(0, 100).map((text) => [text]),
        fc.constant([`t=1767225600,v1=${'0'.repeat(64)}`]),
        fc.constant(['{{request-timestamp}}', '{{request-timestamp}}']),
      ),
    ],
    // The signature uses the tenant's API key. Another defect may have replaced the key in the
    // request.
    'a late or early timestamp': [
      ['request-too-old', 'request-timestamp-invalid'],
      fc.constantFrom(['{{late-request-timestamp}}'], ['{{early-request-timestamp}}']),
    ],
  }),
  ...defectsOf('stripe-signature', isEvent, {
    'an invalid signature': [
      'webhook-signature-invalid',
      fc.oneof(
        fc.constant([]),
        headerText(0, 100).map((text) => [text]),
        fc.nat().map((seconds) => [`t=${seconds},v1=${'0'.repeat(64)}`]),
        fc.constant(['{{stripe-signature}}', '{{stripe-signature}}']),
      ),
    ],
    'a late signature': [
      ['webhook-too-old', 'webhook-malformed', 'webhook-signature-invalid'],
      fc.constantFrom(['{{late-stripe-signature}}'], ['{{early-stripe-signature}}']),
    ],
  }),
]

/**
 * A defect of a body's headers. It adds a body if the request has none: without one the headers are
 * ignored.
 */
function bodyDefect(
  kind: string,
  types: readonly ProblemType[],
  changes: fc.Arbitrary<Partial<Parts>>,
): Defect {
  return {
    kind,
    forOperation: ({ body }) =>
      body === undefined
        ? undefined
        : changes.map((own) =>
            defectChange(types, (parts) => ({
              ...parts,
              body: parts.body === undefined || parts.body === '' ? '{}' : parts.body,
              ...own,
              headers: { ...parts.headers, ...own.headers },
            })),
          ),
  }
}

const mediaType = fc.oneof(
  fc.constantFrom(
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json;charset=utf-8;a=b',
    'application/problem+json',
    'application/json, application/json',
  ),
  headerText(0, 60),
)

const bodyDefects: readonly Defect[] = [
  bodyDefect(
    'another media type',
    ['unsupported-content-type'],
    fc.oneof(
      mediaType.map((type) => ({ headers: { 'content-type': [type] } })),
      fc.constant({ headers: { 'content-type': [] } }),
      fc.constant({ headers: { 'content-type': ['application/json', 'application/json'] } }),
    ),
  ),
  bodyDefect(
    'another content encoding',
    ['unsupported-content-encoding'],
    fc
      .oneof(fc.constantFrom('gzip', 'br', 'deflate', 'identity, identity', '*'), headerText(1, 30))
      .map((coding) => ({ headers: { 'content-encoding': [coding] } })),
  ),
  {
    kind: 'a large body',
    forOperation({ body, access }) {
      if (body === undefined) return undefined
      const most = access === 'open' ? 1_048_576 : 65_536
      return fc
        .integer({ min: most + 1, max: most + 60_000 })
        .map((length) =>
          defectChange(['body-too-large'], (parts) => ({ ...parts, body: `{{spaces-${length}}}` })),
        )
    },
  },
]

/** The service closes the connection after these defects. */
const httpDefects: readonly Defect[] = [
  ...defectsOf('x-fuzz', isAny, {
    'a control character': [
      'malformed-request',
      fc
        .tuple(
          plain,
          fc.constantFrom('\0', '\u0001', '\u0008', '\u000B', '\r', '\u001F', '\u007F'),
          plain,
        )
        .map(([a, character, b]) => [a + character + b]),
    ],
  }),
  ...defectsOf('host', isAny, {
    'two Host headers': ['malformed-request', fc.constant(['fuzz', 'fuzz'])],
  }),
  {
    kind: 'content-length and chunks',
    forOperation: () =>
      fc.constantFrom('0', '5', '100').map((length) =>
        defectChange(['malformed-request'], (parts) => ({
          ...parts,
          headers: {
            ...parts.headers,
            'content-length': [length],
            'transfer-encoding': ['chunked'],
          },
        })),
      ),
  },
  ...defectsOf('content-length', isAny, {
    'a wrong content-length': [
      'malformed-request',
      fc.constantFrom(
        ['-1'],
        ['1.5'],
        ['0x2'],
        ['2', '3'],
        ['2, 2'],
        ['two'],
        ['99999999999999999999'],
      ),
    ],
  }),
  ...defectsOf('x-fuzz', isAny, {
    'large headers': ['headers-too-large', fc.constant(['{{letters-20000}}'])],
  }),
  ...defectsOf('expect', isAny, {
    'an unknown expectation': ['expectation-failed', letters(0, 20).map((text) => [text])],
  }),
]

export const headerDefects: readonly Defect[] = [
  ...apiKeyDefects,
  ...idempotencyKeyDefects,
  ...timestampDefects,
  ...bodyDefects,
]

/** Drawn rarely, because each costs a connection. */
export const connectionDefects: readonly Defect[] = httpDefects
