// A fake service that answers each request with the test's next responder, and records the
// requests. Tests use it for faults that the real service produces rarely or never.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listening } from '../support/listening.ts'

interface ReceivedRequest {
  readonly method: string
  readonly key: string | undefined
  readonly body: string
}

/** What the double answers when all is well, and the body of the request. */
export const PAYMENT = { id: 'pay_1', object: 'payment', status: 'succeeded' }
export const BODY = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
export const SOON = { 'retry-after': '0' }

/** The error of a call that fails. */
export async function failureOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  return await call.then(
    () => {
      throw new Error('the call succeeded')
    },
    (error: unknown) => error as Record<string, unknown>,
  )
}

type Responder = (response: ServerResponse) => void

export interface ServiceDouble {
  readonly url: string
  readonly received: ReceivedRequest[]
  stop(): Promise<void>
}

/** Repeats the last responder for all later requests. */
export async function startServiceDouble(
  ...responders: [Responder, ...Responder[]]
): Promise<ServiceDouble> {
  const received: ReceivedRequest[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const key = request.headers['idempotency-key'] as string | undefined
    received.push({ method: request.method ?? '', key, body })
    const respondNext = responders[received.length - 1] ?? responders.at(-1)
    respondNext?.(response)
  }
  const server = createServer((request, response) => void serve(request, response))
  return { ...(await listening(server)), received }
}

export function respond(
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): Responder {
  const text = JSON.stringify(body)
  const length = String(Buffer.byteLength(text))
  return (response) =>
    void response
      .writeHead(status, {
        'content-type': 'application/json',
        'content-length': length,
        ...headers,
      })
      .end(text)
}

export function problem(
  status: number,
  name: string,
  headers: Record<string, string> = {},
): Responder {
  return respond(status, { type: `/problems/${name}`, title: name, status }, headers)
}

/** Closes the connection without an answer. */
export const closeConnection: Responder = (response) => void response.socket?.destroy()

/** Closes the connection in the middle of a success. */
export const truncateResponse: Responder = (response) => {
  response.writeHead(201, { 'content-type': 'application/json', 'content-length': '100' })
  response.write('{"id":', () => void response.socket?.destroy())
}

/** Leaves the request unanswered. */
export const neverRespond: Responder = () => {}
