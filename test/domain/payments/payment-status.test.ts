import { expect, test } from '@jest/globals'
import { paymentStatuses, paymentTransitions } from '../../../src/domain/payments/payment-status.ts'

// An operation marks its payment as processing first, so that no other operation works on it.
test('the transitions of a payment are exactly these', () => {
  const steps = paymentStatuses.flatMap((from) =>
    paymentTransitions[from].map((to) => `${from} > ${to}`),
  )

  expect(steps).toEqual([
    'processing > processing',
    'processing > requires_action',
    'processing > requires_capture',
    'processing > succeeded',
    'processing > declined',
    'processing > canceled',
    'processing > failed',
    'processing > unknown',
    'requires_action > processing',
    'requires_capture > processing',
    'unknown > processing',
    'failed > processing',
  ])
})
