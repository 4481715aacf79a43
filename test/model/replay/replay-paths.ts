// Chooses paths of a space that take every step of the store which the space has, and replays them on PostgreSQL.
import { openStore } from '../../../src/db/client.ts'
import type { Product } from '../programs/product.ts'
import { Exploration } from '../space/explore.ts'
import type { Space } from '../space/space.ts'
import type { Move } from '../space/move.ts'
import { isReplayable, replay } from './replay.ts'

export interface Replayed {
  readonly paths: number
  readonly moves: number
  /** Different steps from one state of the store to another, in the space. */
  readonly steps: number
  /** How many of them were taken. */
  readonly covered: number
}

const TIMEOUT_MS = 20_000

/**
 * @param most paths at most, each taking as many steps that none has taken before as there are.
 * @throws ReplayError when PostgreSQL is not what the model says.
 */
export async function replayPaths(
  product: Product,
  space: Space,
  { url, paths: most }: { readonly url: string; readonly paths: number },
  tell: (done: number, all: number) => void = () => {},
): Promise<Replayed> {
  const exploration = new Exploration(product, space)
  const options = { url, applicationName: 'model', poolSize: 2, timeoutMs: TIMEOUT_MS }
  const store = openStore(options)
  try {
    await exploration.run({ collects: true })
    const { steps } = exploration
    const left = new Set(steps.keys())
    let [paths, moves] = [0, 0]
    // The farthest first: on the way there most of the others are taken.
    for (const [name, { from, label }] of [...steps].toReversed()) {
      if (paths === most) break
      if (!left.has(name)) continue
      const path = await exploration.movesTo(from, label)
      if (!isReplayable(path)) continue
      await replay(exploration.world, { sql: store.sql, url }, path)
      for (const taken of stepsOf(exploration, path)) left.delete(taken)
      paths += 1
      moves += path.length
      tell(paths, most)
    }
    return { paths, moves, steps: steps.size, covered: steps.size - left.size }
  } finally {
    await store.close()
    await exploration.world.dispose()
  }
}

function stepsOf(exploration: Exploration, path: readonly Move[]): number[] {
  let before = exploration.world.begin().database
  return path.map(({ state }) => {
    const name = exploration.stepName(before, state.database)
    before = state.database
    return name
  })
}
