import { describe, expect, test } from '@jest/globals'
import { judge } from '../../../bench/soak/curves.ts'

const tolerance = { factor: 1.2, slack: 2 }

/** Three thirds of five samples each. */
const thirds = (first: number, middle: number, last: number) =>
  [first, middle, last].flatMap((value) => Array.from({ length: 5 }, () => value))

describe('the verdict on a curve', () => {
  test('is flat when the last third equals the middle third', () => {
    expect(judge(thirds(10, 50, 50), tolerance)).toEqual({ middle: 50, last: 50, verdict: 'flat' })
  })

  test('is flat up to the factor plus the slack, and GROWS beyond', () => {
    expect(judge(thirds(0, 50, 62), tolerance).verdict).toBe('flat')
    expect(judge(thirds(0, 50, 62.1), tolerance).verdict).toBe('GROWS')
  })

  test('compares medians, so that single peaks do not count', () => {
    const values = thirds(50, 50, 50).with(11, 5_000).with(13, 5_000)

    expect(judge(values, tolerance)).toMatchObject({ last: 50, verdict: 'flat' })
  })

  test('GROWS on a steady slope that exceeds the tolerance between two thirds', () => {
    const slope = Array.from({ length: 120 }, (_, index) => 100 + index)

    expect(judge(slope, tolerance)).toMatchObject({ middle: 160, last: 200, verdict: 'GROWS' })
  })

  test('skips samples without a value, and does not judge too few samples', () => {
    const values: (number | null)[] = thirds(50, 50, 500)

    expect(judge(values.with(5, null), tolerance).verdict).toBe('GROWS')
    expect(judge([1, null, null, 1, 1, 1, 9, 9, 9], tolerance)).toEqual({
      middle: 1,
      last: 9,
      verdict: 'GROWS',
    })
    expect(judge([1, 1, 1, 1, null, 1, 9, 9, 9], tolerance)).toEqual({
      middle: null,
      last: 9,
      verdict: 'not judged',
    })
    expect(judge([], tolerance).verdict).toBe('not judged')
  })
})
