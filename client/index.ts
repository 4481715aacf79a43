// The typed client of the API. Its types are those of openapi.yaml; a call that needs an Idempotency-Key
// does not compile without one, and the client never makes one up for a call.
import openClient, {
  mergeHeaders,
  type Client as OpenClient,
  type ClientOptions,
  type ClientPathsWithMethod,
  type FetchResponse,
  type MaybeOptionalInit,
} from 'openapi-fetch'
import { retryMiddleware, type RetryOptions } from './retry.ts'
import type { components, paths } from './schema.ts'

export interface ClientSettings extends Pick<ClientOptions, 'headers'> {
  /** Where the service is, such as `https://payments.example.com`. */
  readonly baseUrl: string
  /** The secret key of a tenant, or of an operator for the routes below `/admin`. */
  readonly apiKey: string
  readonly retry?: RetryOptions
  /** Sends one try of a call: the place for what is new each time, such as a Request-Timestamp. */
  readonly fetch?: (request: Request) => Promise<Response>
}

export type Payment = components['schemas']['Payment']
export type Refund = components['schemas']['Refund']
export type WebhookEvent =
  | components['schemas']['PaymentEvent']
  | components['schemas']['RefundEvent']

interface Key {
  readonly 'Idempotency-Key': string
}

/** An operation whose key is not among its headers any more: the call itself has it. */
type WithoutKey<Operation> = Operation extends {
  parameters: infer Parameters extends { header: Key }
}
  ? Omit<Operation, 'parameters'> & {
      parameters: Omit<Parameters, 'header'> & {
        header?: Omit<Parameters['header'], keyof Key>
      }
    }
  : Operation

type Paths = {
  [Path in keyof paths]: {
    [Method in keyof paths[Path]]: WithoutKey<paths[Path][Method]>
  }
}

/** What a call says beside its parameters and its body. */
type CallKey<Operation> = Operation extends { parameters: { header: Key } }
  ? {
      /** One for each intended operation, stored before the first try, and the same for all of them. */
      readonly idempotencyKey: string
    }
  : { readonly idempotencyKey?: never }

type MediaType = `${string}/${string}`

type KeyedMethod<Method extends 'post' | 'delete'> = <
  Path extends ClientPathsWithMethod<OpenClient<Paths>, Method>,
  Init extends MaybeOptionalInit<Paths[Path], Method>,
>(
  url: Path,
  init: Init & CallKey<paths[Path][Method & keyof paths[Path]]>,
) => Promise<
  FetchResponse<
    Paths[Path][Method & keyof Paths[Path]] & Record<string | number, unknown>,
    Init,
    MediaType
  >
>

export interface Client extends Pick<OpenClient<Paths>, 'GET'> {
  readonly POST: KeyedMethod<'post'>
  readonly DELETE: KeyedMethod<'delete'>
}

/** A client that repeats what may safely be repeated, with the same key, until the answer is final. */
export function createClient(settings: ClientSettings): Client {
  const { baseUrl, apiKey, retry, fetch, headers } = settings
  const client = openClient<Paths>({
    baseUrl,
    headers: mergeHeaders(headers, { authorization: `Bearer ${apiKey}` }),
    ...(fetch === undefined ? {} : { fetch }),
  })
  client.use(retryMiddleware(retry))
  return {
    GET: client.GET,
    POST: withKey(client.POST as UntypedMethod) as Client['POST'],
    DELETE: withKey(client.DELETE as UntypedMethod) as Client['DELETE'],
  }
}

/**
 * A key for one intended operation. Store it with what is to be done BEFORE the first call: after a crash,
 * only the same key tells the service that it is the same operation.
 */
export function newIdempotencyKey(): string {
  return crypto.randomUUID()
}

interface UntypedInit {
  readonly idempotencyKey?: string
  readonly params?: { readonly header?: Readonly<Record<string, unknown>> }
}

type UntypedMethod = (url: string, init: UntypedInit) => Promise<unknown>

/** Sends the call's key as the header that the document names. */
function withKey(method: UntypedMethod): UntypedMethod {
  return async (url, { idempotencyKey, ...init }) => {
    if (idempotencyKey === undefined) return await method(url, init)
    if (idempotencyKey === '') throw new TypeError('the idempotency key is empty')
    const header = { ...init.params?.header, 'Idempotency-Key': idempotencyKey }
    return await method(url, { ...init, params: { ...init.params, header } })
  }
}
