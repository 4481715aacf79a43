// Runs a receiver of webhooks on a free port. It records all requests and answers as the test
// decides.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listening } from './listening.ts'

export interface Received {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}

type Answer = (response: ServerResponse, request: Received) => void

export interface Receiver {
  readonly url: string
  readonly port: number
  /** The requests so far, in order of arrival. */
  readonly received: Received[]
  /** Answers the next requests; by default with 204. */
  answer: Answer
  /** Resolves to the first `count` requests when they have arrived. */
  waitFor(count: number): Promise<Received[]>
  stop(): Promise<void>
}

/** Answers with a status and an empty body. */
export function status(code: number, headers: Record<string, string> = {}): Answer {
  return (response) => void response.writeHead(code, headers).end()
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const read = await readRequest(request)
    received.push(read)
    receiver.answer(response, read)
    for (const look of waiting) look()
  }
  const server = createServer((request, response) => void receive(request, response))
  const { port, stop } = await listening(server)
  const receiver: Receiver = {
    port,
    url: `http://127.0.0.1:${port}/webhooks`,
    received,
    answer: status(204),
    waitFor: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (received.length < count) return
          waiting.delete(look)
          resolve(received.slice(0, count))
        }
        waiting.add(look)
        look()
      }),
    stop,
  }
  return receiver
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const body = Buffer.concat(await request.toArray()).toString()
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  return { path: request.url ?? '', headers, body }
}
