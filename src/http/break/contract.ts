// Contracts of the endpoints by which the console breaks the stack of `npm start`.
import { z } from 'zod'
import type { Contracts } from '../contracts/contract.ts'
import { noBody } from '../requests/body-fields.ts'
import { faultBody, killableProcesses, killBody, payBody, trafficBody } from './commands.ts'

const count = (description: string) => z.int().min(0).meta({ description })

const ONLY = 'It exists only with the stand-in of `npm start`, and needs a session of the console.'

const PROBLEMS = ['operator-role-insufficient', 'launcher-unavailable'] as const

const killSchema = z
  .object({ object: z.literal('break_kill'), process: z.enum(killableProcesses) })
  .meta({ id: 'BreakKill' })

const faultSchema = z
  .object({ object: z.literal('break_fault'), fault: z.string(), times: z.int() })
  .meta({ id: 'BreakFault' })

const clearedSchema = z
  .object({ object: z.literal('break_faults'), cleared: z.literal(true) })
  .meta({ id: 'BreakFaultsCleared' })

const trafficSchema = z
  .object({
    object: z.literal('break_traffic'),
    payments_per_second: z.int(),
    seconds: z.int(),
  })
  .meta({ id: 'BreakTraffic' })

const stopSchema = z
  .object({ object: z.literal('break_traffic_stop'), stopped: z.literal(true) })
  .meta({ id: 'BreakTrafficStop' })

const faultListSchema = z
  .object({
    object: z.literal('break_fault_list'),
    data: z.array(
      z.object({
        fault: z.string(),
        match: faultBody.shape.match.unwrap().meta({ description: 'Which requests get it.' }),
        delay_ms: z.int(),
        left: z.int().min(1).meta({ description: 'How many requests will still get it.' }),
      }),
    ),
  })
  .meta({ id: 'BreakFaultList' })

const paymentSchema = z
  .object({
    object: z.literal('break_payment'),
    status: z.int().meta({ description: 'The status of the answer to the payment.' }),
    headers: z.record(z.string(), z.string()).meta({
      description:
        'Those of its headers that tell a repetition from the first request, and a promise from a result. Their names are in lower case.',
    }),
    body: z.string().meta({
      description: 'Its body as it was sent, so that two can be compared to the byte.',
    }),
  })
  .meta({
    id: 'BreakPayment',
    examples: [
      {
        object: 'break_payment',
        status: 201,
        headers: { 'idempotent-replayed': 'true' },
        body: '{"id":"pay_01k9zq4s5tfexbgc1m6v8w2d3h","object":"payment"}',
      },
    ],
  })

const countsSchema = z
  .object({
    object: z.literal('break_counts'),
    provider_executed: count(
      'The charges that the stand-in executed. They are counted after the payments, and so may be ahead while payments are made.',
    ),
    payments: count('The payments that the service recorded as charged.'),
    in_progress: count(
      'Payments whose operation is not completed, or whose outcome is unknown. When it is 0, the two counts are equal.',
    ),
    charged_twice: count('The payments for which the stand-in executed more than one charge.'),
    traffic_left: count('The payments that the traffic will still make; 0 when none runs.'),
  })
  .meta({
    id: 'BreakCounts',
    examples: [
      {
        object: 'break_counts',
        provider_executed: 42,
        payments: 41,
        in_progress: 1,
        charged_twice: 0,
        traffic_left: 0,
      },
    ],
  })

export const breakContracts: Contracts = {
  'POST /console/break/kill': {
    operationId: 'breakKill',
    tag: 'Console',
    summary: 'Kill a process',
    description: `Ends a process by SIGKILL. The launcher starts it again. ${ONLY}`,
    body: { schema: killBody.meta({ id: 'BreakKillRequest' }), example: { process: 'worker' } },
    answers: { 202: { description: 'The process ends now.', schema: killSchema } },
    problems: PROBLEMS,
  },
  'POST /console/break/faults': {
    operationId: 'breakFault',
    tag: 'Console',
    summary: 'Inject a fault',
    description: `Makes the next matching calls to the stand-in fail. ${ONLY}`,
    body: {
      schema: faultBody.meta({ id: 'BreakFaultRequest' }),
      example: { fault: 'reset_after', match: { path: '/v1/payment_intents/*/capture' } },
    },
    answers: { 201: { description: 'The fault will strike.', schema: faultSchema } },
    problems: PROBLEMS,
  },
  'GET /console/break/faults': {
    operationId: 'listBreakFaults',
    tag: 'Console',
    summary: 'List the faults that wait',
    description: `Returns the faults that have not struck as often as they should. ${ONLY}`,
    refusesQuery: true,
    answers: { 200: { description: 'The faults.', schema: faultListSchema } },
    problems: ['launcher-unavailable'],
  },
  'DELETE /console/break/faults': {
    operationId: 'breakClearFaults',
    tag: 'Console',
    summary: 'Remove all faults',
    description: `Removes the faults that have not struck yet. ${ONLY}`,
    body: noBody,
    answers: { 200: { description: 'There are no faults.', schema: clearedSchema } },
    problems: PROBLEMS,
  },
  'POST /console/break/traffic': {
    operationId: 'breakTraffic',
    tag: 'Console',
    summary: 'Start traffic',
    description: `Makes payments of the demo tenant for a while, each repeated with its idempotency key until it has a final answer. It replaces traffic that runs. ${ONLY}`,
    body: {
      schema: trafficBody.meta({ id: 'BreakTrafficRequest' }),
      example: { payments_per_second: 5, seconds: 30 },
    },
    answers: { 202: { description: 'The traffic has begun.', schema: trafficSchema } },
    problems: PROBLEMS,
  },
  'DELETE /console/break/traffic': {
    operationId: 'breakStopTraffic',
    tag: 'Console',
    summary: 'Stop traffic',
    description: `Makes no more payments, and repeats none. The service completes those that it has accepted. ${ONLY}`,
    body: noBody,
    answers: { 200: { description: 'No traffic runs.', schema: stopSchema } },
    problems: PROBLEMS,
  },
  'POST /console/break/pay': {
    operationId: 'breakPay',
    tag: 'Console',
    summary: 'Make one payment',
    description: `Makes a payment of the demo tenant of USD 19.99 with the idempotency key, and returns the answer of the service to it. ${ONLY}`,
    body: {
      schema: payBody.meta({ id: 'BreakPaymentRequest' }),
      example: { key: 'tour-1', payment_method: 'pm_card_visa' },
    },
    answers: { 200: { description: 'The payment was answered.', schema: paymentSchema } },
    problems: PROBLEMS,
  },
  'GET /console/break/counts': {
    operationId: 'getBreakCounts',
    tag: 'Console',
    summary: 'Compare charges with payments',
    description: `Counts the charges at the stand-in, and the payments here. ${ONLY}`,
    refusesQuery: true,
    answers: { 200: { description: 'The counts.', schema: countsSchema } },
    problems: ['launcher-unavailable'],
  },
}
