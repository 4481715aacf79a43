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

if (import.meta.main) {
  await runExample(async () => {
    const server = createReceiver(webhookSecret(), async (event) => {
      process.stdout.write(`${event.id} ${event.type} ${event.data.object.id}\n`)
    })
    server.listen(receiverPort())
    await once(server, 'listening')
    process.stdout.write(`listening on port ${(server.address() as AddressInfo).port}\n`)
  })
}
