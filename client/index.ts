// The typed client of the API, with the types of openapi.yaml. A call that needs an idempotency key
// does not compile without one. The client never creates a key by itself.
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
  /** The URL of the service, for example `https://payments.example.com`. */
  readonly baseUrl: string
  /** A tenant's API key, or an operator's API key for the routes below `/admin`. */
  readonly apiKey: string
  readonly retry?: RetryOptions
  /**
   * Sends one try of a call. Use it for headers that must be new each time: a Request-Timestamp.
   */
  readonly fetch?: (request: Request) => Promise<Response>
}

export type Payment = components['schemas']['Payment']
export type Refund = components['schemas']['Refund']
export type WebhookEvent = components['schemas']['Event']

interface Key {
  readonly 'Idempotency-Key': string
}

/** Removes the key from an operation's headers: the call passes it as `idempotencyKey`. */
type WithoutKey<Operation> = Operation extends {
  parameters: infer Parameters extends { header: Key }
}
  ? Omit<Operation, 'parameters'> & {
      parameters: Omit<Parameters, 'header'> & {
        header?: Omit<Parameters['header'], keyof Key>
      }
    }
  : Operation

type WithoutKeys<Schema> = {
  [Path in keyof Schema]: {
    [Method in keyof Schema[Path]]: WithoutKey<Schema[Path][Method]>
  }
}

/** The member that a call has in addition to its parameters and its body. */
type CallKey<Operation> = Operation extends { parameters: { header: Key } }
  ? {
      /**
       * One key per intended operation. Store it before the first call; send it with every retry.
       */
      readonly idempotencyKey: string
    }
  : { readonly idempotencyKey?: never }

type MediaType = `${string}/${string}`

type KeyedMethod<
  Schema extends object,
  Method extends 'post' | 'delete',
  Paths extends WithoutKeys<Schema> = WithoutKeys<Schema>,
> = <
  Path extends ClientPathsWithMethod<OpenClient<Paths>, Method> & keyof Schema,
  Init extends MaybeOptionalInit<Paths[Path], Method & keyof Paths[Path]>,
>(
  url: Path,
  init: Init & CallKey<Schema[Path][Method & keyof Schema[Path]]>,
) => Promise<
  FetchResponse<
    Paths[Path][Method & keyof Paths[Path]] & Record<string | number, unknown>,
    Init,
    MediaType
  >
>

/** By default a tenant's. `Schema` are the paths of another document, such as the operators'. */
export interface Client<Schema extends object = paths> extends Pick<
  OpenClient<WithoutKeys<Schema>>,
  'GET'
> {
  readonly POST: KeyedMethod<Schema, 'post'>
  readonly DELETE: KeyedMethod<Schema, 'delete'>
}

/** Creates a client that retries safe calls, with the same key, until the answer is final. */
export function createClient<Schema extends object = paths>(
  settings: ClientSettings,
): Client<Schema> {
  const { baseUrl, apiKey, retry, fetch, headers } = settings
  const client = openClient<WithoutKeys<Schema>>({
    baseUrl,
    headers: mergeHeaders(headers, { authorization: `Bearer ${apiKey}` }),
    ...(fetch === undefined ? {} : { fetch }),
  })
  client.use(retryMiddleware(retry))
  return {
    GET: client.GET,
    POST: withKey(client.POST as UntypedMethod) as Client<Schema>['POST'],
    DELETE: withKey(client.DELETE as UntypedMethod) as Client<Schema>['DELETE'],
  }
}

/**
 * Creates a key for one intended operation. Store it BEFORE the first call: after a crash, only the
 * same key identifies the same operation to the service.
 */
export function newIdempotencyKey(): string {
  return crypto.randomUUID()
}

interface UntypedInit {
  readonly idempotencyKey?: string
  readonly params?: { readonly header?: Readonly<Record<string, unknown>> }
}

type UntypedMethod = (url: string, init: UntypedInit) => Promise<unknown>

/** Sends the call's key as the Idempotency-Key header. */
function withKey(method: UntypedMethod): UntypedMethod {
  return async (url, { idempotencyKey, ...init }) => {
    if (idempotencyKey === undefined) return await method(url, init)
    if (idempotencyKey === '') throw new TypeError('the idempotency key is empty')
    const header = { ...init.params?.header, 'Idempotency-Key': idempotencyKey }
    return await method(url, { ...init, params: { ...init.params, header } })
  }
}
