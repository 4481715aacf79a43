// Zod schemas of fields that the bodies of several operations have. The descriptions of amounts list the rules of
// each currency for openapi.yaml. The rules are checked only for new operations, not with the schema.
import { z } from 'zod'
import { AMOUNT_MAX_MINOR, REFERENCE, REFERENCE_LENGTH_MAX } from '../../domain/payments/payment.ts'
import { amountMaxMinor, currencies, decimalsOf } from '../../domain/payments/currency.ts'
import { adapters, capabilitiesOf } from '../../provider/adapters.ts'

/**
 * Stripe accepts 50. Five are reserved for our own ids, by which we find our resources at Stripe.
 */
const METADATA_MEMBERS_MAX = 45

/** An amount in minor units. */
const amountField = z.int().min(1).max(AMOUNT_MAX_MINOR)

/**
 * Text with a limited number of code points. `minLength` and `maxLength` in openapi.yaml count code
 * points (JSON Schema Validation 2020-12, section 6.3). Zod's own limits count UTF-16 units: an
 * emoji has two.
 */
export function textField(
  { min = 0, max }: { min?: number; max: number },
  text = z.string(),
): z.ZodString {
  return text
    .refine((value) => countCharacters(value) >= min, {
      error: `Too small: expected string to have >=${min} characters`,
    })
    .refine((value) => countCharacters(value) <= max, {
      error: `Too big: expected string to have <=${max} characters`,
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** The id of an object of the provider. */
export const providerIdField = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7E]+$/, 'Invalid string: must be visible ASCII without spaces')

export const referenceField = z
  .string()
  .min(1)
  .max(REFERENCE_LENGTH_MAX)
  .regex(REFERENCE, 'Invalid string: must be visible ASCII without spaces')

// The limits are Stripe's: https://docs.stripe.com/api/metadata. Our own ids there begin with
// `atomic_`.
const metadataField = z
  .record(
    textField({ min: 1, max: 40 })
      .regex(/^[^[\]]*$/, 'must not have square brackets')
      .regex(/^(?!atomic_)/, 'must not begin with atomic_'),
    textField({ max: 500 }),
  )
  .refine((members) => Object.keys(members).length <= METADATA_MEMBERS_MAX, {
    error: `Too big: expected at most ${METADATA_MEMBERS_MAX} members`,
  })
  .meta({ maxProperties: METADATA_MEMBERS_MAX })

/** An optional field in which null means absent, because clients without a value often send null. */
export const optionalField = <Field extends z.ZodType>(field: Field) =>
  field.nullish().overwrite((value) => value ?? undefined)

/** Metadata that may be absent, null or empty, which is the same. */
export const optionalMetadataField = metadataField.nullish().overwrite((members) => members ?? {})

/** The body of a contract whose requests need none. */
export const noBody = { schema: z.strictObject({}), mayOmit: true }

const { amounts } = capabilitiesOf('stripe')

const maxima = new Map(
  currencies
    .map((currency) => [currency, amountMaxMinor(currency)] as const)
    .filter(([, maximum]) => maximum !== amountMaxMinor('usd')),
)

const UNIT = `In the smallest unit of the currency, as at Stripe, whichever provider charges it: with two decimals, without any in ${codesOf(0)}, and with three in ${codesOf(3)}. See docs/currencies.md.`

const STEPS = `${adapters
  .filter(({ capabilities }) => capabilities.amounts.steps.size > 0)
  .map(({ title, capabilities }, index) => {
    const what = index === 0 ? ', in some currencies it must be a multiple' : ''
    return `${index === 0 ? 'At' : 'at'} ${title}${what}: ${list(capabilities.amounts.steps)}`
  })
  .join('; ')}.`

const MAXIMA = `The largest amount is ${amountMaxMinor('usd')}; in ${list(maxima)}.`

const MINIMA = `The smallest amount at Stripe by currency: ${list(amounts.chargeMinimaMinor)}. Other currencies have no minimum here, but the provider may decline a small amount.`

/** The amount of a payment, in minor units. */
export const chargeAmountField = amountField.meta({
  id: 'ChargeAmount',
  description: `${UNIT} ${MAXIMA} ${STEPS} ${MINIMA}`,
})

/** A part of the amount of a payment, in minor units. */
export const partAmountField = amountField.meta({
  id: 'PartAmount',
  description: `${UNIT} ${STEPS}`,
})

function codesOf(decimals: number): string {
  const codes = currencies.filter((currency) => decimalsOf(currency) === decimals)
  return codes.map((code) => `\`${code}\``).join(', ')
}

function list(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([currency, minor]) => `\`${currency}\` ${minor}`).join(', ')
}
