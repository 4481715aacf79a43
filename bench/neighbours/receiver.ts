// Receives the webhooks of both tenants: records when those of B arrive, and lets those of A hang.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receiver {
  /** The URL for B, which is answered at once. */
  readonly url: string
  hangingUrl(number: number): string
  /** Resolves when B's event about the success of this payment arrives: to that moment. */
  untilSucceeded(paymentId: string): Promise<number>
  /** Resolves when so many requests hang. */
  untilHanging(count: number): Promise<void>
  /** Ends the requests that hang. */
  release(): void
  stop(): void
}

export async function startReceiver(): Promise<Receiver> {
  const arrivals = new Map<string, PromiseWithResolvers<number>>()
  const hanging = new Set<ServerResponse>()
  const watchers = new Set<() => void>()

  const arrivalOf = (paymentId: string) => {
    const arrival = arrivals.get(paymentId) ?? Promise.withResolvers<number>()
    arrivals.set(paymentId, arrival)
    return arrival
  }
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const arrivedAtMs = performance.now()
    const body = Buffer.concat(await request.toArray()).toString()
    if (request.url !== '/neighbour') {
      hanging.add(response)
      response.once('close', () => hanging.delete(response))
      for (const look of watchers) look()
      return
    }
    response.writeHead(204).end()
    const { type, data } = JSON.parse(body) as { type: string; data: { object: { id: string } } }
    if (type === 'payment.succeeded') arrivalOf(data.object.id).resolve(arrivedAtMs)
  }

  const server = createServer((request, response) => {
    // The service gives up on a request that hangs.
    receive(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${base}/neighbour`,
    hangingUrl: (number) => `${base}/hanging/${number}`,
    untilSucceeded: (paymentId) => arrivalOf(paymentId).promise,
    untilHanging: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (hanging.size < count) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    release() {
      for (const response of hanging) response.destroy()
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
