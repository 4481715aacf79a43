// Reads events that Braintree sends: verifies that an event is from Braintree, and extracts the stored
// part. The rest is dropped here, because it contains details of the card.
import { createHash } from 'node:crypto'
import braintree from 'braintree'
import { ProblemError } from '../../src/domain/problems/problem-error.ts'
import type { ProviderEvent } from '../../src/domain/events/provider-event.ts'
import { isJson, type Json } from '../../src/provider/provider-text.ts'
import { correlationIn } from './order-id.ts'
import { isTransactionId, readTime } from './transaction.ts'

export interface BraintreeWebhookOptions {
  readonly merchantId: string
  readonly publicKey: string
  readonly privateKey: string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** How far the clocks of Braintree and of this service may differ. */
const TOLERANCE_MS = 300_000

/**
 * Creates a reader for the events of one merchant. A body is a form with the payload and its signature,
 * so no header is read. Its time cannot be too old: Braintree sends an event again for a day. An event
 * that is replayed has the same id, and events are only hints.
 *
 * @returns a function that throws ProblemError webhook-signature-invalid, webhook-too-old (more than 300
 *   seconds in the future), or webhook-malformed (signed, but not an event).
 * @see https://developer.paypal.com/braintree/docs/guides/webhooks/parse/node
 */
export function createBraintreeEventReader({ now, ...options }: BraintreeWebhookOptions) {
  const { webhookNotification } = new braintree.BraintreeGateway({
    ...options,
    environment: braintree.Environment.Sandbox,
  })
  return async (body: Uint8Array): Promise<ProviderEvent> => {
    const form = new URLSearchParams(Buffer.from(body).toString('utf8'))
    const [signature, payload] = [form.get('bt_signature') ?? '', form.get('bt_payload') ?? '']
    const event = readEvent(
      await parseOrExplain(() => webhookNotification.parse(signature, payload)),
    )
    if (event === undefined) throw new ProblemError('webhook-malformed')
    if (event.occurredAt.getTime() > now() + TOLERANCE_MS) throw new ProblemError('webhook-too-old')
    return { ...event, id: idOf(payload) }
  }
}

/** Verifies and parses the payload. The package's errors are dropped: they may quote it. */
async function parseOrExplain(parse: () => Promise<unknown>): Promise<unknown> {
  try {
    return await parse()
  } catch (error) {
    const isRefusal = isJson(error) && error['type'] === 'invalidSignatureError'
    throw new ProblemError(isRefusal ? 'webhook-signature-invalid' : 'webhook-malformed')
  }
}

/** Braintree gives its events no ids. It sends the same payload again. */
function idOf(payload: string): string {
  const digest = createHash('sha256').update(payload.replaceAll(/\s/g, '')).digest('hex')
  return `bt_${digest.slice(0, 40)}`
}

function readEvent(value: unknown): Omit<ProviderEvent, 'id'> | undefined {
  if (!isJson(value)) return undefined
  const { kind: type, subject } = value
  const occurredAt = readTime(value['timestamp'])
  const isType = typeof type === 'string' && /^\w{1,255}$/.test(type)
  if (!isType || occurredAt === undefined || !isJson(subject)) return undefined
  const dispute = subject['dispute']
  const isDispute = isJson(dispute)
  const object = isDispute ? dispute : subject['transaction']
  const sale = isDispute ? dispute['transaction'] : object
  return {
    provider: 'braintree',
    type,
    about: isDispute ? 'dispute' : 'payment',
    objectId: isJson(object) ? idIn(object['id']) : '',
    providerPaymentId: isJson(sale) ? paymentOf(sale) : null,
    subject: isDispute || !isJson(sale) ? null : subjectOf(sale),
    occurredAt,
  }
}

const idIn = (id: unknown): string => (isTransactionId(id) ? id : '')

/** A refund names the sale that it refunds. */
function paymentOf({ id, refundedTransactionId: saleId }: Json): string | null {
  const named = isTransactionId(saleId) ? saleId : id
  return isTransactionId(named) ? named : null
}

function subjectOf({ orderId }: Json): ProviderEvent['subject'] {
  const correlation = correlationIn(orderId)
  return correlation && { tenantId: correlation.tenantId, paymentId: correlation.paymentId }
}
