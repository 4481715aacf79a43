// A process of its own that sends random API keys over a few connections. It reports when the first
// ones are answered, and at the end the number of answers by their status.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'

const CONNECTIONS = 4
const [port = '', first = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
const answers: Record<string, number> = {}
let guessed = 0
const over = new AbortController()

async function guess(): Promise<void> {
  const authorization = `Bearer sk_test_${randomBytes(16).toString('hex')}`
  const options = { agent, host: '127.0.0.1', port, path: '/v1/payments' }
  const sent = request({ ...options, headers: { authorization } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  const status = String(answer.statusCode)
  answers[status] = (answers[status] ?? 0) + 1
  guessed += 1
  if (guessed === Number(first)) process.send?.('begun')
}

async function guessOn(): Promise<void> {
  while (!over.signal.aborted) await guess()
}

process.once('message', () => over.abort())
// The suite was killed.
process.once('disconnect', () => over.abort())
await Promise.all(Array.from({ length: CONNECTIONS }, guessOn))
process.send?.(answers)
agent.destroy()
