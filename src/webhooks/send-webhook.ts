// Sends one request to a URL that a tenant has chosen, without letting it reach our own network: the
// addresses of its name are resolved once, checked, and these very addresses are dialled. Redirects
// are not followed, and of the answer only the status is kept.
import { lookup, type LookupAddress } from 'node:dns'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { isDialable } from '../domain/webhooks/dialable-address.ts'
import type { Reply } from '../domain/webhooks/webhook-delivery.ts'
import { checkWebhookUrl, hostOf } from '../domain/webhooks/webhook-url.ts'

/** Twice the largest body that the API takes, which an event shows again with more around it. */
const BODY_MAX_BYTES = 128 * 1024

/** What a receiver may answer before it is cut off. Nothing of it is kept. */
const ANSWER_MAX_BYTES = 64 * 1024

export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends a request and tells what came of it. Never throws. */
export type SendWebhook = (request: WebhookRequest) => Promise<Reply>

/** All addresses of a name. Rejects when there are none. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export interface SenderOptions {
  /** Bounds an attempt as a whole, from the look-up of the name to the status of the answer. */
  readonly timeoutMs: number
  /** Whether http and this machine's own addresses are good, too. */
  readonly allowInsecure: boolean
  readonly resolve?: Resolve
}

const lookUp = promisify(lookup)

const resolveBySystem: Resolve = (hostname) => lookUp(hostname, { all: true })

export function createSender(options: SenderOptions): SendWebhook {
  const { timeoutMs, allowInsecure, resolve = resolveBySystem } = options
  return async (request) => {
    const checked = checkWebhookUrl(request.url, { allowInsecure })
    if ('refusal' in checked) return { error: 'url_refused' }
    if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) return { error: 'body_too_large' }

    const limit = AbortSignal.timeout(timeoutMs)
    const addresses = await resolveWithin(limit, resolve, hostOf(checked.url))
    if (limit.aborted) return { error: 'timeout' }
    if (addresses.length === 0) return { error: 'name_not_resolved' }
    const good = addresses.every(({ address }) =>
      isDialable(address, { allowLoopback: allowInsecure }),
    )
    // One bad address is enough: a name that leads both out and in was made to lead in.
    if (!good) return { error: 'address_refused' }
    return await post(checked.url, request, addresses, limit)
  }
}

/** No addresses when the name has none, when it cannot be found out, or when the time is up. */
async function resolveWithin(
  limit: AbortSignal,
  resolve: Resolve,
  host: string,
): Promise<readonly LookupAddress[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const timeUp = new Promise<[]>((done) => limit.addEventListener('abort', () => done([])))
  return await Promise.race([resolve(host).catch(() => []), timeUp])
}

function post(
  url: URL,
  { headers, body }: WebhookRequest,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<Reply> {
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    // A connection of its own, so that every attempt dials an address that was checked for it.
    agent: false,
    lookup: pinnedTo(addresses),
    signal,
  })
  return new Promise((resolve) => {
    request.on('response', (response) => {
      resolve({ httpStatus: response.statusCode ?? 0 })
      discard(response)
    })
    request.on('error', () => resolve({ error: signal.aborted ? 'timeout' : 'connection_failed' }))
    request.end(body)
  })
}

/** Answers every look-up with the addresses that were checked, whatever the name leads to by now. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    if (all) return callback(null, [...addresses])
    const [first] = addresses
    callback(null, first?.address ?? '', first?.family)
  }
}

/** Lets the receiver say what it has to say, up to a point, so that it sees no broken connection. */
function discard(response: IncomingMessage): void {
  let bytes = 0
  // Whether the rest arrives does not matter: the status has said all.
  response.on('error', () => {})
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > ANSWER_MAX_BYTES) response.destroy()
  })
}
