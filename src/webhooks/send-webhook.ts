// Sends one request to a URL that a tenant chose, without giving it access to our own network: the
// host name is resolved once, the addresses are checked, and exactly these addresses are dialled.
// Redirects are not followed. Only the status of the answer is kept, and when to try again.
import type { LookupAddress } from 'node:dns'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isDialable, checkWebhookUrl, hostOf } from '../domain/webhooks/dialable-address.ts'
import type { Reply } from '../domain/webhooks/webhook-delivery.ts'
import type { Resolve } from '../names/resolver.ts'

/** Twice the largest body that the API accepts, because an event contains that body and more. */
const BODY_MAX_BYTES = 128 * 1024

/** The connection is closed when an answer exceeds this. The answer is not kept. */
const ANSWER_MAX_BYTES = 64 * 1024

/** There was no answer, or none that HTTP knows. */
const CONNECTION_FAILED: Reply = { error: 'connection_failed' }

const NO_PUBLIC_ADDRESS: Reply = { error: 'no_public_address' }

interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type SentReply = Reply & {
  /** The Retry-After header of an answer that asks to try again later. */
  readonly retryAfter?: string
  /** For the log only: why no address was dialled. */
  readonly because?: 'name_not_resolved' | 'address_refused'
}

/** Sends a request and returns the result. Never throws. */
export type SendWebhook = (request: WebhookRequest) => Promise<SentReply>

/** Too many requests, and temporarily unavailable. */
const STATUSES_WITH_RETRY_AFTER = [429, 503]

export interface SenderOptions {
  /** Limits the whole attempt, from resolving the host name to the status of the answer. */
  readonly timeoutMs: number
  /** Whether http and this machine's own addresses are allowed, too. */
  readonly allowInsecure: boolean
  readonly resolve: Resolve
}

export function createSender(options: SenderOptions): SendWebhook {
  return async (request) => {
    const limit = AbortSignal.timeout(options.timeoutMs)
    // Not every attempt ends by itself: of some answers, Node announces neither a response nor an error.
    const timeUp = new Promise<SentReply>((resolve) =>
      limit.addEventListener('abort', () => resolve({ error: 'timeout' })),
    )
    const attempt = attemptWithin(limit, options, request).catch(() => CONNECTION_FAILED)
    return await Promise.race([attempt, timeUp])
  }
}

async function attemptWithin(
  limit: AbortSignal,
  { allowInsecure, resolve }: SenderOptions,
  request: WebhookRequest,
): Promise<SentReply> {
  const checked = checkWebhookUrl(request.url, { allowInsecure })
  if ('refusal' in checked) return { error: 'url_refused' }
  if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) return { error: 'body_too_large' }

  const addresses = await findAddresses(resolve, hostOf(checked.url))
  limit.throwIfAborted()
  if (addresses.length === 0) return { ...NO_PUBLIC_ADDRESS, because: 'name_not_resolved' }
  const allDialable = addresses.every(({ address }) =>
    isDialable(address, { allowLoopback: allowInsecure }),
  )
  // One refused address is enough: a name with public and private addresses is an attack.
  if (!allDialable) return { ...NO_PUBLIC_ADDRESS, because: 'address_refused' }
  return await post(checked.url, request, addresses, limit)
}

/** Returns no addresses when the name has none, or when resolving it fails. */
async function findAddresses(resolve: Resolve, host: string): Promise<readonly LookupAddress[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  return await resolve(host).catch(() => [])
}

function post(
  url: URL,
  { headers, body }: WebhookRequest,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<SentReply> {
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
      resolve(readReply(response))
      discard(response)
    })
    // A 101 that names a protocol is no response to Node.
    request.on('upgrade', (response, socket) => {
      resolve(readReply(response))
      socket.destroy()
    })
    request.on('error', () => resolve(CONNECTION_FAILED))
    request.on('close', () => resolve(CONNECTION_FAILED))
    request.end(body)
  })
}

/** A status has three digits, and is no less than 100 (RFC 9110, section 15). Node reads 000, too. */
function readReply({ statusCode = 0, headers }: IncomingMessage): SentReply {
  if (statusCode < 100) return CONNECTION_FAILED
  const retryAfter = headers['retry-after']
  if (retryAfter === undefined || !STATUSES_WITH_RETRY_AFTER.includes(statusCode)) {
    return { httpStatus: statusCode }
  }
  return { httpStatus: statusCode, retryAfter }
}

/** Answers every lookup with the checked addresses, even if the name resolves to others by now. */
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
