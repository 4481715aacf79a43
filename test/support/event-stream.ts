// Reads server-sent events for tests. `fetchApi` would wait for the end of the body.
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { expectDocumented } from './documented.ts'
import { until } from './until.ts'

export interface SentEvent {
  readonly event: string
  readonly value: Record<string, unknown>
}

export interface EventStream {
  readonly response: IncomingMessage
  /** What has arrived until now. */
  readonly events: readonly SentEvent[]
  /** All that has arrived, comments too. */
  text(): string
  /** Resolves with the first event for which the condition is true. */
  next(isWanted: (event: SentEvent) => boolean): Promise<SentEvent>
  /** Resolves when the service has ended the stream. */
  readonly ended: Promise<unknown>
  close(): void
}

export async function openStream(url: string, cookie: string): Promise<EventStream> {
  const headers = { cookie, accept: 'text/event-stream' }
  const sent = request(url, { headers }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const status = response.statusCode ?? 0
  const received = new Headers(response.headers as Record<string, string>)
  expectDocumented('GET', new URL(url).pathname, { status, headers: received }, '')
  const events: SentEvent[] = []
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    const blocks = text.split('\n\n').slice(0, -1)
    events.splice(0, events.length, ...blocks.flatMap(readEvent))
  })
  response.on('error', () => {})
  return {
    response,
    events,
    text: () => text,
    next: (isWanted) => until(() => events.find(isWanted)),
    // `once` would reject when the test itself closes the stream.
    ended: new Promise((resolve) => void response.once('close', resolve)),
    close: () => void sent.destroy(),
  }
}

function readEvent(block: string): SentEvent[] {
  const [, event = '', json = ''] = /^event: (\w+)\ndata: (.+)$/.exec(block) ?? []
  return event === '' ? [] : [{ event, value: JSON.parse(json) as SentEvent['value'] }]
}
