// Sends one request of a load with as little processor time as possible, because the load shares
// the cores of the service that it measures.
import { request, type Agent } from 'node:http'

export interface Reply {
  readonly status: number
  readonly text: string
}

export interface Call {
  readonly agent: Agent
  readonly headers: Readonly<Record<string, string>>
  readonly method?: string
}

/** Uses Node's plain client: `fetch` costs as much processor time as the API does. */
export function send(url: string, call: Call, body = ''): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { ...call.headers, ...(body === '' ? {} : { 'content-length': body.length }) }
    const sent = request(url, { ...call, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Returns a random item. @throws Error when the list is empty. */
export function anyOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)]
  if (item === undefined) throw new Error('cannot choose from an empty list')
  return item
}
