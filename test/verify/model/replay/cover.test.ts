import { expect, test } from '@jest/globals'
import { Cover } from '../../../../verify/model/replay/cover.ts'

/** Each state has its own store, except for those that share store 0. */
function coverOf(moves: readonly (readonly [number, number])[], shared: readonly number[] = []) {
  const count = Math.max(...moves.flat()) + 1
  const storeOf = (state: number) => (shared.includes(state) ? 0 : state)
  return new Cover({
    count,
    from: moves.map(([from]) => from),
    to: moves.map(([, to]) => to),
    storeOf,
  })
}

function pathsOf(cover: Cover): (readonly number[])[] {
  const paths: (readonly number[])[] = []
  for (let path = cover.next(); path !== undefined; path = cover.next()) paths.push(path)
  return paths
}

test('chooses the path with the most uncovered steps first, and covers every step', () => {
  const cover = coverOf([
    [0, 1],
    [0, 2],
    [1, 4],
    [2, 3],
    [3, 5],
  ])

  expect(pathsOf(cover)).toStrictEqual([
    [0, 2, 3, 5],
    [0, 1, 4],
  ])
  expect(cover.covered).toBe(5)
  expect(cover.steps).toBe(5)
})

test('ends a path with a transition back to an earlier state', () => {
  const cover = coverOf([
    [0, 1],
    [1, 2],
    [2, 1],
    [2, 3],
  ])

  expect(pathsOf(cover)).toStrictEqual([
    [0, 1, 2, 1],
    [0, 1, 2, 3],
  ])
})

test('does not count a transition that leaves the store unchanged, but follows it', () => {
  const cover = coverOf(
    [
      [0, 1],
      [0, 2],
      [1, 3],
    ],
    [1],
  )

  expect(pathsOf(cover)).toStrictEqual([
    [0, 2],
    [0, 1, 3],
  ])
  expect(cover.steps).toBe(2)
})
