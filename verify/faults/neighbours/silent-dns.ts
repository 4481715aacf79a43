// A tenant whose endpoints have names that their name server never answers for. Another tenant,
// whose endpoint has a name as well as the provider, pays beside it.
import { startReceiver } from '../../../test/support/receiver.ts'
import { Merchant } from '../merchant.ts'
import { poll } from '../poll.ts'
import { acceptBacklog, BACKLOG_EVENT, workOff } from './backlog.ts'
import { compare, NEIGHBOUR, payInTurn, slowDownProvider, subscribe } from './measure.ts'

const SILENT = Array.from({ length: 20 }, (_, index) => `silent-${index}.test`)
/** Each of them tells every endpoint. */
const PAYMENTS = 5
/** As many names as the workers ask for at once. */
const NAMES_AT_ONCE = 6
const LIMIT_MS = 10_000

export async function silenceNames(merchant: Merchant): Promise<void> {
  const { lane, signal } = merchant
  lane.watch.end()
  const noisy = new Merchant(lane, await lane.createTenant(), signal)
  merchant.neighbours.push(noisy)
  const receiver = await startReceiver()
  const { names } = lane
  try {
    await subscribe(merchant, receiver, NEIGHBOUR)
    await slowDownProvider(merchant)
    const alone = await payInTurn({ merchant, receiver })
    for (const host of SILENT) {
      await subscribe(noisy, receiver, host, BACKLOG_EVENT)
      names.silentNames.add(host)
    }
    const countSilent = () =>
      new Set(names.asked.filter((question) => question.includes('silent-')))
    await acceptBacklog(noisy, PAYMENTS)
    await poll(LIMIT_MS, () => countSilent().size >= NAMES_AT_ONCE, { pauseMs: 10 })
    if (countSilent().size === 0) throw new Error('the silent name server was never asked')
    const beside = await payInTurn({ merchant, receiver })
    compare(merchant, alone.times, beside.times)
    names.silentNames.clear()
    await lane.provider.removeFaults()
    await workOff(noisy)
    await beside.ended
  } finally {
    names.silentNames.clear()
    await receiver.stop()
  }
}
