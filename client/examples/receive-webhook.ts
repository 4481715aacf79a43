// Receives the service's webhooks. It accepts only events that are signed with the endpoint's
// secret, and handles an event once even if it arrives twice.
// `WEBHOOK_SECRET=whsec_... node client/examples/receive-webhook.ts`
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { WebhookEvent } from '../index.ts'
import { receiverPort, runExample, webhookSecret } from './settings.ts'

/**
 * @param secret the endpoint's secret, as the service returned it when the endpoint was created.
 * @param onEvent called once per event. If it fails, the service delivers the event again.
 */
export function createReceiver(
  secret: string,
  onEvent: (event: WebhookEvent) => Promise<void>,
): Server {
  const signer = new Webhook(secret)
  // A shop stores these ids in its database, in the same transaction that handles the event.
  const handled = new Set<string>()
  const receive = async (request: IncomingMessage): Promise<number> => {
    const event = await readEvent(signer, request)
    if (event === undefined) return 400
    if (handled.has(event.id)) return 204
    await onEvent(event)
    handled.add(event.id)
    return 204
  }
  return createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end(),
      // The sender retries after every error, so the answer carries no details.
      () => response.writeHead(500).end(),
    )
  })
}

/** Returns the event, or undefined if the signature is invalid or too old. */
async function readEvent(
  signer: Webhook,
  request: IncomingMessage,
): Promise<WebhookEvent | undefined> {
  // The signature covers the exact bytes. Parsing and serializing them again could change them.
  const body = Buffer.concat(await request.toArray()).toString()
  try {
    return signer.verify(body, request.headers as Record<string, string>) as WebhookEvent
  } catch {
    // The reason would only help a forger.
    return undefined
  }
}

/**
 * Returns what the shop does because of an event that can come long after its request was answered.
 * Undefined for all other events, which follow from a request of the shop.
 */
function taskOf(event: WebhookEvent): string | undefined {
  const { id } = event.data.object
  switch (event.type) {
    case 'refund.failed':
      // Without a failure the service gave up: nothing was executed.
      return event.data.object.failure === null
        ? `send the request of ${id} again, with its key`
        : `the money of ${id} is back in the balance: refund again, or pay the customer otherwise`
    case 'payment.authorization_expiring':
      return `capture ${id} before ${event.data.object.capture_before}, or cancel it`
    case 'payment.early_fraud_warning':
      return `do not ship ${id}; a full refund now prevents a dispute and its fee`
    case 'dispute.created':
      return `answer ${event.data.object.provider.dispute_id} at the provider, or accept the loss`
    case 'dispute.updated':
      return `the status is ${event.data.object.status}: answer while it needs a response`
    case 'dispute.funds_withdrawn':
      return `book ${event.data.object.amount_withdrawn} and the fee as withdrawn; do not refund`
    case 'dispute.funds_reinstated':
      return `book ${event.data.object.amount_reinstated} as reinstated`
    case 'dispute.closed':
      return `close the case as ${event.data.object.status}`
    default:
      return undefined
  }
}

if (import.meta.main) {
  await runExample(async () => {
    const server = createReceiver(webhookSecret(), async (event) => {
      const task = taskOf(event)
      const line = `${event.id} ${event.type} ${event.data.object.id}`
      process.stdout.write(`${line}${task === undefined ? '' : `: ${task}`}\n`)
    })
    server.listen(receiverPort())
    await once(server, 'listening')
    process.stdout.write(`listening on port ${(server.address() as AddressInfo).port}\n`)
  })
}
