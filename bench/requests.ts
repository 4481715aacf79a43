// A request of a load, with as little work as can be: the load runs on the cores that it measures.
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

/** Node's plain client: `fetch` takes as much of a core as the API does. */
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

/** @throws Error when there are none. */
export function anyOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)]
  if (item === undefined) throw new Error('there is nothing to choose from')
  return item
}
