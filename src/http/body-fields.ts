// The fields that the bodies of several operations have in common.
import { z } from 'zod'
import { AMOUNT_MAX_MINOR } from '../domain/payment.ts'

/** Stripe takes 50; five are kept for the ids by which we find our own things there again. */
const METADATA_MEMBERS_MAX = 45

/** An amount in minor units. */
export const amountField = z.int().min(1).max(AMOUNT_MAX_MINOR)

// Stripe's limits, https://docs.stripe.com/api/metadata. Our own ids there begin with `atomic_`.
export const metadataField = z
  .record(
    z
      .string()
      .min(1)
      .max(40)
      .regex(/^[^[\]]*$/, 'must not have square brackets')
      .regex(/^(?!atomic_)/, 'must not begin with atomic_'),
    z.string().max(500),
  )
  .refine((members) => Object.keys(members).length <= METADATA_MEMBERS_MAX, {
    error: `Too big: expected at most ${METADATA_MEMBERS_MAX} members`,
  })
  .meta({ maxProperties: METADATA_MEMBERS_MAX })

/** The body of a request that asks for nothing in particular. */
export const noFields = z.strictObject({})
