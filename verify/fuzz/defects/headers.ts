// Draws invalid headers: API keys, idempotency keys, timestamps, body headers and malformed HTTP.
import * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { isEvent, type Operation } from '../operations.ts'
import { CARD_NUMBERS, headerText, letters } from '../values.ts'
import { type Defect, defectChange, type Parts, withBody, withHeader } from './fields.ts'

/** A header with these values causes one of the problems. A text is the only value. */
type BadValues = readonly [
  types: ProblemType | readonly ProblemType[],
  values: fc.Arbitrary<string | readonly string[]>,
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
        ? values.map((lines) => defectChange([types].flat(), withHeader(name, [lines].flat())))
        : undefined,
  }))
}

const isTenants = ({ access }: Operation) => access === 'tenant'
const isOperators = ({ access }: Operation) => access === 'operator'
const isKeyed = ({ isKeyed: keyed }: Operation) => keyed
/** `createPayment` with the used key would be a retry. */
const isNoRetry = ({ isKeyed: keyed, id }: Operation) => keyed && id !== 'createPayment'
const isAny = () => true

const NONE = fc.constant([])
/** Letters only: a quote or a comma would have a meaning in these headers. */
const plain = letters(1, 20)
const notAscii = fc.integer({ min: 0x80, max: 0xff }).map((code) => String.fromCharCode(code))

/** Texts that follow each other. */
const joined = (...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
  fc.tuple(...parts.filter((part) => typeof part !== 'string')).map((drawn) => {
    const rest = drawn.values()
    return parts.map((part) => (typeof part === 'string' ? part : rest.next().value)).join('')
  })

const badAuthorization: fc.Arbitrary<string | readonly string[]> = fc.oneof(
  headerText(0, 60),
  joined('Bearer ', headerText(0, 60)),
  joined('Bearer sk_test_', letters(9, 200)),
  joined('Bearer adm_', letters(24, 200)),
  fc.constantFrom<string | readonly string[]>(
    'Bearer {{ended-key}}',
    'Basic {{tenant-key}}',
    'Bearer {{tenant-key}} x',
    ['Bearer {{tenant-key}}', 'Bearer {{tenant-key}}'],
    'Bearer {{admin-key}}, Bearer {{admin-key}}',
    '{{tenant-key}}',
  ),
)

const apiKeyDefects: readonly Defect[] = [
  ...defectsOf('authorization', isTenants, {
    'no API key': ['api-key-missing', NONE],
    'a wrong API key': [
      'api-key-invalid',
      fc.oneof(badAuthorization, fc.constant('Bearer {{admin-key}}')),
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
      fc.oneof(badAuthorization, fc.constant('Bearer {{tenant-key}}'), NONE),
    ],
  }),
]

const malformedKey = fc.oneof(
  joined(plain, notAscii, headerText(0, 30)),
  joined(plain, fc.constantFrom(' ', '\t', '  '), plain),
  joined('"', plain, fc.constantFrom('', '\\', '\\"', '\\n"', '"x', '""')),
  plain.map((name) => `"a";${name.toUpperCase()}`),
)

const twoKeys = fc.oneof(
  fc.array(plain, { minLength: 2, maxLength: 5 }),
  joined(plain, ', ', plain),
  joined('"', plain, '","', plain, '"'),
)

const cardKey = fc
  .tuple(fc.constantFrom(...CARD_NUMBERS), letters(0, 20), letters(0, 20), fc.boolean())
  .map(([card, a, b, isQuoted]) => (isQuoted ? `"${a}${card}${b}"` : `${a}${card}${b}`))

const longKey = fc
  .tuple(fc.integer({ min: 256, max: 8_000 }), fc.boolean())
  .map(([length, isQuoted]) => (isQuoted ? `"{{letters-${length}}}"` : `{{letters-${length}}}`))

const idempotencyKeyDefects: readonly Defect[] = [
  ...defectsOf('idempotency-key', isKeyed, {
    'no idempotency key': ['idempotency-key-missing', NONE],
    'an empty idempotency key': [
      'idempotency-key-empty',
      fc.constantFrom('', ' ', '\t ', '""', '"";a'),
    ],
    'a long idempotency key': ['idempotency-key-too-long', longKey],
    'a malformed idempotency key': ['idempotency-key-malformed', malformedKey],
    'two idempotency keys': ['idempotency-key-repeated', twoKeys],
    'a card number as idempotency key': ['card-number-refused', cardKey],
  }),
  ...defectsOf('idempotency-key', isNoRetry, {
    'an idempotency key of another request': [
      'idempotency-key-reused',
      fc.constantFrom('{{used-key}}', '"{{used-key}}"'),
    ],
  }),
]

const timestampDefects: readonly Defect[] = [
  ...defectsOf('request-timestamp', isKeyed, {
    'an invalid timestamp': [
      'request-timestamp-invalid',
      fc.oneof(
        headerText(0, 100),
        fc.constant(`t=1767225600,v1=${'0'.repeat(64)}`),
        fc.constant(['{{request-timestamp}}', '{{request-timestamp}}']),
      ),
    ],
    // The signature uses the tenant's API key. Another defect may have replaced the key in the
    // request.
    'a late or early timestamp': [
      ['request-too-old', 'request-timestamp-invalid'],
      fc.constantFrom('{{late-request-timestamp}}', '{{early-request-timestamp}}'),
    ],
  }),
  ...defectsOf('stripe-signature', isEvent, {
    'an invalid signature': [
      'webhook-signature-invalid',
      fc.oneof(
        NONE,
        headerText(0, 100),
        fc.nat().map((seconds) => `t=${seconds},v1=${'0'.repeat(64)}`),
        fc.constant(['{{stripe-signature}}', '{{stripe-signature}}']),
      ),
    ],
    'a late signature': [
      ['webhook-too-old', 'webhook-malformed', 'webhook-signature-invalid'],
      fc.constantFrom('{{late-stripe-signature}}', '{{early-stripe-signature}}'),
    ],
  }),
]

/**
 * A defect of a body's headers. It adds a body if the request has none: without one the headers are
 * ignored.
 */
function bodyHeaderDefect(
  kind: string,
  name: string,
  type: ProblemType,
  values: fc.Arbitrary<string | readonly string[]>,
): Defect {
  const addBody = (parts: Parts) => ({ ...parts, body: parts.body || '{}' })
  return {
    kind,
    forOperation: ({ body }) =>
      body &&
      values.map((lines) => {
        const change = withHeader(name, [lines].flat())
        return defectChange([type], (parts) => change(addBody(parts)))
      }),
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
  bodyHeaderDefect(
    'another media type',
    'content-type',
    'unsupported-content-type',
    fc.oneof(mediaType, NONE, fc.constant(['application/json', 'application/json'])),
  ),
  bodyHeaderDefect(
    'another content encoding',
    'content-encoding',
    'unsupported-content-encoding',
    fc.oneof(
      fc.constantFrom('gzip', 'br', 'deflate', 'identity, identity', '*'),
      headerText(1, 30),
    ),
  ),
  {
    kind: 'a large body',
    forOperation({ body, access }) {
      if (body === undefined) return undefined
      const most = access === 'open' ? 1_048_576 : 65_536
      return fc
        .integer({ min: most + 1, max: most + 60_000 })
        .map((length) => defectChange(['body-too-large'], withBody(`{{spaces-${length}}}`)))
    },
  },
]

const control = fc.constantFrom('\0', '\u0001', '\u0008', '\u000B', '\r', '\u001F', '\u007F')
const wrongLengths = ['-1', '1.5', '0x2', ['2', '3'], '2, 2', 'two', '99999999999999999999']

export const headerDefects: readonly Defect[] = [
  ...apiKeyDefects,
  ...idempotencyKeyDefects,
  ...timestampDefects,
  ...bodyDefects,
]

/** Drawn rarely, because each costs a connection: the service closes it. */
export const connectionDefects: readonly Defect[] = [
  ...defectsOf('x-fuzz', isAny, {
    'a control character': ['malformed-request', joined(plain, control, plain)],
  }),
  ...defectsOf('host', isAny, {
    'two Host headers': ['malformed-request', fc.constant(['fuzz', 'fuzz'])],
  }),
  {
    kind: 'content-length and chunks',
    forOperation: () =>
      fc.constantFrom('0', '5', '100').map((length) => {
        const withLength = withHeader('content-length', [length])
        const withChunks = withHeader('transfer-encoding', ['chunked'])
        return defectChange(['malformed-request'], (parts) => withChunks(withLength(parts)))
      }),
  },
  ...defectsOf('content-length', isAny, {
    'a wrong content-length': ['malformed-request', fc.constantFrom(...wrongLengths)],
  }),
  ...defectsOf('x-fuzz', isAny, {
    'large headers': ['headers-too-large', fc.constant('{{letters-20000}}')],
  }),
  ...defectsOf('expect', isAny, {
    'an unknown expectation': ['expectation-failed', letters(0, 20)],
  }),
]
