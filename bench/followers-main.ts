// `node bench/followers-main.ts [seconds]`: measures how late a program that follows the events of a
// tenant by cursor sees them while 16 clients create its payments, and whether it sees all of them.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { asService } from '../src/db/connection/transaction.ts'
import { send } from './requests.ts'
import { BenchStack, UNLIMITED } from './stack.ts'

const CLIENTS = 16
const MS = 1_000

interface Shown {
  readonly id: string
  readonly created_at: string
}

const seconds = Number(process.argv[2] ?? '10')
const stack = await BenchStack.make(tmpdir())
try {
  await stack.startDatabase()
  const [tenant] = await stack.createTenants()
  const { apiUrl } = await stack.startServices(UNLIMITED)
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${tenant?.apiKey}` }
  const body = '{"amount":1999,"currency":"usd","payment_method":"pm_card_visa"}'
  const pay = () => {
    const own = { 'idempotency-key': randomUUID(), 'content-type': 'application/json' }
    const call = { agent, method: 'POST', headers: { ...headers, ...own } }
    return send(`${apiUrl}/v1/payments`, call, body)
  }
  const read = async (after: string): Promise<Shown[]> => {
    const { text } = await send(`${apiUrl}/v1/events?limit=100${after}`, { agent, headers })
    return (JSON.parse(text) as { data: Shown[] }).data
  }
  await pay()
  const lagsMs: number[] = []
  const seen = new Set<string>()
  let cursor = (await read(''))[0]?.id
  const endsAt = Date.now() + seconds * MS
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (Date.now() < endsAt) await pay()
  })
  let isOver = false
  const following = (async () => {
    for (;;) {
      const wasOver = isOver
      const page = await read(`&ending_before=${cursor}`)
      for (const { id, created_at: at } of page) {
        lagsMs.push(Date.now() - Date.parse(at))
        seen.add(id)
      }
      cursor = page[0]?.id ?? cursor
      if (wasOver && page.length === 0) return
    }
  })()
  await Promise.all(clients)
  isOver = true
  await following
  agent.destroy()
  const [all] = await asService(stack.owner.sql)<{ count: number }[]>`
    select count(*)::int as count from events
  `
  lagsMs.sort((one, other) => one - other)
  const at = (share: number) => lagsMs[Math.floor((lagsMs.length - 1) * share)]
  // The first payment has two events, which were read before.
  const missed = (all?.count ?? 0) - 2 - seen.size
  process.stdout.write(
    `${seen.size} events in ${seconds} s, ${missed} not seen; ms from the event to the follower: ` +
      `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}\n`,
  )
} finally {
  await stack.remove()
}
