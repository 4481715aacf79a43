// The orders in which the provider's events reach the service: every order of up to five steps,
// events that are repeated, and no event at all.
import { seededRandom } from '../simulate/random.ts'
import type { Case } from './results.ts'
import type { Fault } from './scenario.ts'
import type { Point } from './points.ts'
import { PASS } from './watch.ts'

/** The cardholder authenticates at the provider; a step among the events. */
export const AUTHENTICATION = 'authentication'

/**
 * The steps of a payment with 3-D Secure; those with events have the last part of the event's type.
 */
export const EVENT_STEPS = [
  'requires_action',
  AUTHENTICATION,
  'amount_capturable_updated',
  'succeeded',
  'payment_failed',
] as const

export type EventStep = (typeof EVENT_STEPS)[number]

const NOTHING = 'nothing'

/** The label of the point at which events arrive in that order, so that a run label repeats it. */
export function pointOf(order: readonly EventStep[]): string {
  return `api/events/${order.join(',') || NOTHING}#1/before`
}

/** The order that the label of a point contains; undefined for other points. */
export function readOrder(point: string): readonly EventStep[] | undefined {
  const [, text] = /^api\/events\/([a-z_,]+)#1\/before$/.exec(point) ?? []
  if (text === undefined) return undefined
  return text === NOTHING ? [] : (text.split(',') as EventStep[])
}

export function placeOf(order: readonly EventStep[]): Omit<Point, 'label'> {
  const message = order.join(',') || NOTHING
  return {
    role: 'api',
    name: 'events',
    message,
    moment: 'before',
    peer: 'provider',
    direction: 'in',
  }
}

/** The scenario itself plays the steps, and reaches the point after the last one. */
export const eventFaults: readonly Fault[] = [
  'webhooks-lost',
  'webhooks-reordered',
  'webhooks-duplicated',
  'webhooks-contradicting',
  'webhooks-early',
].map((name) => ({ name, appliesAt: () => false, inject: () => PASS }))

/** The scenarios, by the result of the authentication and by when the events arrive. */
export const EVENT_SCENARIOS = {
  passed: 'payment.follow.events',
  refused: 'payment.follow.refused.events',
  early: 'payment.follow.early.events',
} as const

const SAMPLED = 6

/** Plans all runs, or a few that the seed draws. */
export function planEvents({ quick, seed }: { quick: boolean; seed: number }): Case[] {
  const all = Object.values(EVENT_SCENARIOS).flatMap((scenario) =>
    [[], ...ordersIn(scenario), ...repetitionsOf(EVENT_STEPS)].map((order): Case => ({
      scenario,
      injections: [{ fault: nameOf(scenario, order), point: pointOf(order) }],
    })),
  )
  if (!quick) return all
  const random = seededRandom(seed)
  return [...new Set(Array.from({ length: SAMPLED }, () => random.pick(all)))]
}

/**
 * Every order of every selection; in other scenarios than the usual one those of 1, 2 and 5 steps.
 */
function ordersIn(scenario: string): EventStep[][] {
  const orders = ordersOf(EVENT_STEPS)
  if (scenario === EVENT_SCENARIOS.passed) return orders
  return orders.filter(({ length }) => length <= 2 || length === EVENT_STEPS.length)
}

function nameOf(scenario: string, order: readonly EventStep[]): string {
  if (order.every((one) => one === AUTHENTICATION)) return 'webhooks-lost'
  if (scenario === EVENT_SCENARIOS.early) return 'webhooks-early'
  if (new Set(order).size < order.length) return 'webhooks-duplicated'
  return order.some((one) => isContradicted(scenario, one))
    ? 'webhooks-contradicting'
    : 'webhooks-reordered'
}

/** Whether the event contradicts what happened. */
function isContradicted(scenario: string, step: EventStep): boolean {
  const isRefused = scenario === EVENT_SCENARIOS.refused
  if (step === 'payment_failed') return !isRefused
  return isRefused && (step === 'succeeded' || step === 'amount_capturable_updated')
}

/** Every order of every selection. */
export function ordersOf<One>(all: readonly One[]): One[][] {
  return all.flatMap((one) => {
    const others = all.filter((other) => other !== one)
    return [[one], ...ordersOf(others).map((rest) => [one, ...rest])]
  })
}

/** Each event twice, in a row or with another step between. */
function repetitionsOf(all: readonly EventStep[]): EventStep[][] {
  return all
    .filter((one) => one !== AUTHENTICATION)
    .flatMap((one): EventStep[][] => [
      [AUTHENTICATION, one, one],
      ...all
        .filter((other) => other !== one)
        .map((other): EventStep[] =>
          other === AUTHENTICATION ? [one, other, one] : [AUTHENTICATION, one, other, one],
        ),
    ])
}
