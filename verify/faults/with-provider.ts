// Makes the provider of a lane behave as one kind while a run is made.
import { setTimeout as wait } from 'node:timers/promises'
import type { Lane } from './lane.ts'
import type { ProviderKind } from './providers.ts'

/** Makes the lane's provider behave as that kind while the work runs. */
export async function withProvider<Result>(
  lane: Lane,
  kind: ProviderKind,
  work: () => Promise<Result>,
): Promise<Result> {
  // The mode is left alone otherwise: a scenario may have set another one.
  if (kind.mode !== 'keep') await setMode(lane, kind.mode)
  for (const fault of kind.ownFaults) {
    await lane.provider.plantFault({ match: { method: 'POST' }, fault, times: 1 })
  }
  const over = new AbortController()
  const forgetting =
    kind.keysExpireMs === undefined
      ? Promise.resolve()
      : forgetAfter(lane, kind.keysExpireMs, over.signal)
  // Awaited in `finally`.
  forgetting.catch(() => {})
  try {
    return await work()
  } finally {
    over.abort()
    await forgetting
    if (kind.mode !== 'keep') await setMode(lane, 'keep')
  }
}

const POLL_MS = 20

async function forgetAfter(lane: Lane, ms: number, over: AbortSignal): Promise<void> {
  let forgottenAt = performance.now()
  while (!over.aborted) {
    const last = Math.max(
      ...lane.processes.map(({ provider }) => provider.requests.at(-1)?.at ?? 0),
    )
    if (last > forgottenAt && performance.now() - last > ms) {
      forgottenAt = performance.now()
      await setMode(lane, 'forget')
      await setMode(lane, 'keep')
    }
    await wait(POLL_MS)
  }
}

async function setMode({ provider }: Lane, mode: 'keep' | 'forget' | 'ignore'): Promise<void> {
  await provider.control('POST', 'idempotency', { mode })
}
