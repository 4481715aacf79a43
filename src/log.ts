// The log of every process: JSON lines on stdout. Only the fields listed here are written. A field
// that is added to a log line carelessly (a body, a header, a row) is left out until someone adds
// it to the list.
import pino, { type DestinationStream, type Logger } from 'pino'
import { maskCardNumbers } from './domain/payments/card-number.ts'
import { showId, type IdPrefix } from './domain/resource-id.ts'

/** Ids that this service creates, words from its own code, and numbers. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set(
  [
    'request trace span method route tenant operator status ms aborted',
    // The id of an API key, not its secret.
    'key',
    'operation phase attempt leaseEpoch outcome task result day run',
    'event provider type repeated delivery httpStatus error because latencyMs retryInSeconds',
    'host port concurrency inDoubt cancellation',
  ].flatMap((names) => names.split(' ')),
)

/** The fields with ids of resources. They are written in the form that the API shows and accepts. */
const ID_PREFIXES: Readonly<Record<string, IdPrefix>> = {
  tenant: 'tnt',
  key: 'key',
  operation: 'op',
  run: 'rec',
  delivery: 'wd',
}

/** Fields of the logger itself: a second one of the same name would hide the first one. */
const OWN_FIELDS: ReadonlySet<string> = new Set('level time pid hostname name msg'.split(' '))

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Sentences that may contain text from others. */
const FREE_TEXT_FIELDS: ReadonlySet<string> = new Set(['reason', 'message'])

/** Any field may contain a number below this: no secret and no card number is that short. */
const COUNT_MAX = 1_000_000_000

export function createLog(
  name: string,
  level: string,
  destination: DestinationStream = writeTogether(),
): Logger {
  const options = {
    name,
    level,
    formatters: { log: keepNamed },
    serializers: { err: describeError },
  }
  return pino(options, destination)
}

/** Lines are collected for this long, because writing a single line costs more than creating it. */
const WRITE_DELAY_MS = 10

/** Writes to stdout in batches. A killed process loses at most the lines of its last moment. */
function writeTogether(): DestinationStream {
  const stdout = pino.destination({ dest: 1, sync: true })
  let lines = ''
  const write = () => {
    if (lines !== '') stdout.write(lines)
    lines = ''
  }
  process.on('exit', write)
  return {
    write(line) {
      if (lines === '') setTimeout(write, WRITE_DELAY_MS).unref()
      lines += line
    },
  }
}

/** The fields that may be written. Of the others only the names are written, as `unlisted`. */
function keepNamed(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  const unlisted: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    if (OWN_FIELDS.has(name)) unlisted.push(name)
    else if (name === 'err') kept[name] = value
    else if (FREE_TEXT_FIELDS.has(name)) kept[name] = withoutSecrets(textOf(value))
    else if (mayLeave(name, value)) kept[name] = shownAs(ID_PREFIXES[name], value)
    else unlisted.push(name)
  }
  return unlisted.length === 0 ? kept : { ...kept, unlisted }
}

function shownAs(prefix: IdPrefix | undefined, value: unknown): unknown {
  const isId = prefix !== undefined && typeof value === 'string' && UUID.test(value)
  return isId ? showId(prefix, value) : value
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : 'not a string'
}

function mayLeave(name: string, value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) < COUNT_MAX
  return PLAIN_FIELDS.has(name) && (typeof value === 'string' || typeof value === 'boolean')
}

/**
 * Describes an error for the log. For an error that wraps another one (drizzle's errors do),
 * describes the cause. Messages may contain values of a statement, so everything that looks like a
 * secret is removed.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!isLikeAnError(error)) return { message: withoutSecrets(String(error)) }
  if (error.cause instanceof Error) return describeError(error.cause)
  const { name, code, message, stack } = error
  return {
    ...(name !== undefined && { type: name }),
    ...(code !== undefined && { code }),
    message: withoutSecrets(message),
    stack: withoutSecrets(stack ?? ''),
  }
}

interface ErrorLike extends Partial<Error> {
  readonly message: string
  readonly code?: unknown
}

/** pg-boss reports some errors as plain objects that copy the members of an error. */
function isLikeAnError(error: unknown): error is ErrorLike {
  return (
    typeof error === 'object' &&
    error !== null &&
    'message' in error &&
    typeof error.message === 'string'
  )
}

/** API keys, operator keys, Stripe's keys and webhook secrets. */
const SECRET = /\b(sk|rk|pk|adm|whsec)_[A-Za-z0-9_+/=-]{6,}/g
const CLIENT_SECRET = /_secret_[A-Za-z0-9]+/g
const PASSWORD_IN_URL = /:\/\/[^\s/@]+@/g
/** An encryption key: 32 bytes in base64. */
const KEY_TEXT = /(?<![\w+/])[\w+/-]{43}=/g
const LONG_NUMBER = /\b\d(?:[ -]?\d){12,18}\b/g

function withoutSecrets(text: string): string {
  return maskCardNumbers(text.replace(LONG_NUMBER, '...'))
    .replace(SECRET, '$1_...')
    .replace(CLIENT_SECRET, '_secret_...')
    .replace(PASSWORD_IN_URL, '://...@')
    .replace(KEY_TEXT, '...')
}
