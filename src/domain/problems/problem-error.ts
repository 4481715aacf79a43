// The error that carries a problem, and the rendering of a problem's body.
import { problems, type ProblemType } from './problems.ts'

/** One error at one place of the body: an RFC 6901 pointer and a sentence. */
export interface FieldError {
  readonly pointer: string
  readonly detail: string
}

export interface ProblemOptions {
  readonly detail?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly errors?: readonly FieldError[] | undefined
  /** Further members of the body. */
  readonly extensions?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** An operational error: a request is refused, and the response tells the caller why. */
export class ProblemError extends Error {
  override name = 'ProblemError'
  readonly type: ProblemType
  readonly detail: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly errors: readonly FieldError[] | undefined
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(type: ProblemType, options: ProblemOptions = {}) {
    super(options.detail ?? problems[type].title, { cause: options.cause })
    this.type = type
    this.detail = options.detail
    this.headers = options.headers ?? {}
    this.errors = options.errors
    this.extensions = options.extensions ?? {}
  }

  /** The same problem with additional response headers. */
  withHeaders(headers: Readonly<Record<string, string>>): ProblemError {
    const { type, detail, errors, extensions, cause } = this
    const all = { ...this.headers, ...headers }
    return new ProblemError(type, { detail, errors, extensions, cause, headers: all })
  }
}

/** The problem types for which Stripe's SDKs have their own codes. */
const STRIPE_CODES: { readonly [Type in ProblemType]?: string } = {
  'customer-not-found': 'resource_missing',
  'operation-in-progress': 'idempotency_key_in_use',
  'rate-limited': 'rate_limit',
  'resource-not-found': 'resource_missing',
  'unknown-field': 'parameter_unknown',
}

/**
 * The body of a problem: RFC 9457 members, and an `error` member in Stripe's shape. The official
 * stripe package treats JSON without an `error` member as a success, regardless of the status.
 */
export function problemBody(
  type: ProblemType,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { status, title } = problems[type]
  return {
    type: `/problems/${type}`,
    title,
    status,
    ...(detail === undefined ? {} : { detail }),
    ...extensions,
    error: errorMember(type, detail, extensions),
  }
}

/** A problem in Stripe's shape; `extensions.error` may contain additional members. */
export function errorMember(
  type: ProblemType,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): { type: string; code: string; message: string; param?: string } {
  const { title, stripeType } = problems[type]
  const code = STRIPE_CODES[type] ?? type.replaceAll('-', '_')
  const param = paramOf(extensions['errors'] as readonly FieldError[] | undefined)
  return {
    type: stripeType,
    code,
    message: detail ?? title,
    ...(param === '' ? {} : { param }),
    ...(extensions['error'] as object | undefined),
  }
}

/** The place of the first error in Stripe's notation, for example `metadata[order]`. */
function paramOf([first]: readonly FieldError[] = []): string {
  const [, name = '', ...inner] = (first?.pointer ?? '').split('/')
  return name + inner.map((part) => `[${part}]`).join('')
}
