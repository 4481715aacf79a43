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

describe('the transitions of a payment', () => {
  test('are exactly these', () => {
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

  test('start at statuses that are final, waiting or processing', () => {
    expect([...final, ...waiting, 'processing'].toSorted()).toEqual(paymentStatuses.toSorted())
  })

  test.each(final)('end at %s', (status) => {
    expect(paymentTransitions[status]).toEqual([])
  })

  // An operation marks its payment as processing first, so that no other operation works on it.
  test.each(waiting)('lead from %s to processing only', (status) => {
    expect(paymentTransitions[status]).toEqual(['processing'])
  })

  test.each(paymentStatuses)('lead to %s from processing', (status) => {
    expect(mayFollow('processing', status)).toBe(true)
  })
})

test.each(final)('only processing leads to %s', (status) => {
  expect(paymentStatuses.filter((from) => mayFollow(from, status))).toEqual(['processing'])
})
