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

test('the path that takes the most steps is the first, and every step is taken', () => {
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

test('a step back is the last one of a path', () => {
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

test('a move that leaves the store as it is counts for nothing, and is gone along', () => {
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
