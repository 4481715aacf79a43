// Replays paths of a space on PostgreSQL. Together they cover every store step of the space.
import { openStore } from '../../../src/db/connection/client.ts'
import type { Product } from '../programs/product.ts'
import { Exploration } from '../space/explore.ts'
import type { Space } from '../space/space.ts'
import { Connections } from './connections.ts'
import { Cover } from './cover.ts'
import { isReplayable, replay, ReplayError } from './replay.ts'

export interface Replayed {
  readonly paths: number
  readonly transitions: number
  /** Number of different store steps in the space. */
  readonly steps: number
  /** How many of them the replayed paths cover. */
  readonly covered: number
}

const TIMEOUT_MS = 20_000

/**
 * @param pathsMax maximum number of paths.
 * @param onProgress receives the number of covered steps and of all steps.
 * @throws ReplayError when PostgreSQL differs from the model, or the space itself violates an
 *   invariant.
 */
export async function replayPaths(
  product: Product,
  space: Space,
  { url, paths: pathsMax }: { readonly url: string; readonly paths: number },
  onProgress: (covered: number, steps: number) => void = () => {},
): Promise<Replayed> {
  const exploration = new Exploration(product, space)
  const options = { url, applicationName: 'model', poolSize: 2, timeoutMs: TIMEOUT_MS }
  const store = openStore(options)
  const connections = new Connections(url)
  try {
    const { violations } = await exploration.run({ isCollected: isReplayable })
    const [violation] = violations
    if (violation !== undefined) {
      throw new ReplayError([...violation.trace, violation.message].join('\n'))
    }
    const cover = new Cover(exploration.graph)
    if (cover.steps === 0) throw new ReplayError('the space has no store steps')
    let [paths, transitions] = [0, 0]
    while (paths < pathsMax) {
      const states = cover.next()
      if (states === undefined) break
      const path = await exploration.transitionsAlong(states, isReplayable)
      await replay(exploration.system, { sql: store.sql, connections }, path)
      paths += 1
      transitions += path.length
      onProgress(cover.covered, cover.steps)
    }
    return { paths, transitions, steps: cover.steps, covered: cover.covered }
  } finally {
    await Promise.all([connections.close(), store.close()])
    await exploration.system.dispose()
  }
}
