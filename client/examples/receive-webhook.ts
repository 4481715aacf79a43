// Receives the service's webhooks: believes what is signed with the endpoint's secret, and nothing else, and
// does once what arrives twice.
// `WEBHOOK_SECRET=whsec_... node client/examples/receive-webhook.ts`
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { WebhookEvent } from '../index.ts'
import { receiverPort, runExample, webhookSecret } from './settings.ts'

/**
 * @param secret as the service has shown it when the endpoint was made.
 * @param onEvent called once for each event; when it fails, the service sends the event again.
 */
export function createReceiver(
  secret: string,
  onEvent: (event: WebhookEvent) => Promise<void>,
): Server {
  const signer = new Webhook(secret)
  // A shop keeps them in its database, in the transaction in which it acts on the event.
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
      // What failed is not told to the sender: it tries again either way.
      () => response.writeHead(500).end(),
    )
  })
}

/** The event, or undefined when it is not signed by the service, or was signed too long ago. */
async function readEvent(
  signer: Webhook,
  request: IncomingMessage,
): Promise<WebhookEvent | undefined> {
  // The signature is one of the bytes: parsed and printed again, they could be others.
  const body = Buffer.concat(await request.toArray()).toString()
  try {
    return signer.verify(body, request.headers as Record<string, string>) as WebhookEvent
  } catch {
    // Why it is not believed helps nobody but a forger.
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
