// Sends one request to a URL that a tenant chose, without giving it access to our own network: the
// host name is resolved once, the addresses are checked, and exactly these addresses are dialled.
// Redirects are not followed, and only the status of the answer is kept.
import type { LookupAddress } from 'node:dns'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isDialable } from '../domain/webhooks/dialable-address.ts'
import type { Reply } from '../domain/webhooks/webhook-delivery.ts'
import { checkWebhookUrl, hostOf } from '../domain/webhooks/webhook-url.ts'
import type { Resolve } from '../names/resolver.ts'

/** Twice the largest body that the API accepts, because an event contains that body and more. */
const BODY_MAX_BYTES = 128 * 1024

/** The connection is closed when an answer exceeds this. The answer is not kept. */
const ANSWER_MAX_BYTES = 64 * 1024

interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends a request and returns the result. Never throws. */
export type SendWebhook = (request: WebhookRequest) => Promise<Reply>

export interface SenderOptions {
  /** Limits the whole attempt, from resolving the host name to the status of the answer. */
  readonly timeoutMs: number
  /** Whether http and this machine's own addresses are allowed, too. */
  readonly allowInsecure: boolean
  readonly resolve: Resolve
}

export function createSender(options: SenderOptions): SendWebhook {
  const { timeoutMs, allowInsecure, resolve } = options
  return async (request) => {
    const checked = checkWebhookUrl(request.url, { allowInsecure })
    if ('refusal' in checked) return { error: 'url_refused' }
    if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) return { error: 'body_too_large' }

    const limit = AbortSignal.timeout(timeoutMs)
    const addresses = await resolveWithin(limit, resolve, hostOf(checked.url))
    if (limit.aborted) return { error: 'timeout' }
    if (addresses.length === 0) return { error: 'name_not_resolved' }
    const allDialable = addresses.every(({ address }) =>
      isDialable(address, { allowLoopback: allowInsecure }),
    )
    // One refused address is enough: a name with public and private addresses is an attack.
    if (!allDialable) return { error: 'address_refused' }
    return await post(checked.url, request, addresses, limit)
  }
}

/** Returns no addresses when the name has none, when resolving it fails, or when the time is up. */
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
    // No connection reuse: every attempt dials an address that was checked for this attempt.
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

/** Answers every look-up with the checked addresses, even if the name resolves to others by now. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    if (all) return callback(null, [...addresses])
    const [first] = addresses
    callback(null, first?.address ?? '', first?.family)
  }
}

/** Reads and drops the answer, up to a limit, so that the receiver sees no broken connection. */
function discard(response: IncomingMessage): void {
  let bytes = 0
  // Only the status matters, so errors in the rest of the answer are ignored.
  response.on('error', () => {})
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > ANSWER_MAX_BYTES) response.destroy()
  })
}
