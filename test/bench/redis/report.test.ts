import { expect, test } from '@jest/globals'
import { medianOf, type RedisRow } from '../../../bench/redis/report.ts'
import { renderSvg } from '../../../bench/redis/svg.ts'

const row: RedisRow = {
  layer: 'none',
  what: 'replay',
  level: 16,
  round: 1,
  perSecond: 100,
  p50Ms: 1,
  postgresMs: 0.5,
  redisMs: 0,
  unexpected: 0,
}

test('the figure of a layer is its median over the rounds', () => {
  const rows = [100, 300, 200].map((perSecond, round) => ({ ...row, round, perSecond }))
  const others = [
    { ...row, layer: 'redis' as const, perSecond: 9 },
    { ...row, level: 1, perSecond: 8 },
  ]

  expect(medianOf([...rows, ...others], row, 'perSecond')).toBe(200)
  expect(medianOf(rows, { ...row, layer: 'memory' }, 'perSecond')).toBeNull()
})

test('a plot has a line for each layer, with a point for each measured level', () => {
  const svg = renderSvg({
    title: 'a < b',
    labels: [1, 16, 64],
    across: 'clients',
    up: 'ms',
    lines: [
      { name: 'one', values: [1, 2, 3] },
      { name: 'other', values: [1, null, 3] },
    ],
  })

  const points = [...svg.matchAll(/points="([^"]*)"/g)].map(
    ([, text = '']) => text.split(' ').length,
  )
  expect(points).toEqual([3, 2])
  expect(svg).toContain('a &lt; b')
  expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
})
