import { describe, expect, test } from '@jest/globals'
import {
  paymentStatuses,
  paymentTransitions,
  type PaymentStatus,
} from '../../../src/domain/payments/payment-status.ts'

const final: PaymentStatus[] = ['succeeded', 'declined', 'canceled']
const waiting: PaymentStatus[] = ['requires_action', 'requires_capture', 'unknown', 'failed']

const mayFollow = (from: PaymentStatus, to: PaymentStatus) =>
  (paymentTransitions[from] as readonly PaymentStatus[]).includes(to)

describe('the steps of a payment', () => {
  test('are all of these, and no others', () => {
    const steps = paymentStatuses.flatMap((from) =>
      paymentStatuses.filter((to) => mayFollow(from, to)).map((to) => `${from} > ${to}`),
    )

    expect(steps).toEqual([
      'processing > processing',
      'processing > requires_action',
      'processing > requires_capture',
      'processing > unknown',
      'processing > failed',
      'processing > succeeded',
      'processing > declined',
      'processing > canceled',
      'requires_action > processing',
      'requires_capture > processing',
      'unknown > processing',
      'failed > processing',
    ])
  })

  test('begin at every status either final or waiting, or at work', () => {
    expect([...final, ...waiting, 'processing'].toSorted()).toEqual(paymentStatuses.toSorted())
  })

  test.each(final)('end with %s', (status) => {
    expect(paymentTransitions[status]).toEqual([])
  })

  // Whoever acts on a payment occupies it first, so that nobody else does.
  test.each(waiting)('lead from %s to work and nowhere else', (status) => {
    expect(paymentTransitions[status]).toEqual(['processing'])
  })

  test.each(paymentStatuses)('lead to %s from work', (status) => {
    expect(mayFollow('processing', status)).toBe(true)
  })
})

test.each(final)('no status but processing leads to %s', (status) => {
  expect(paymentStatuses.filter((from) => mayFollow(from, status))).toEqual(['processing'])
})
