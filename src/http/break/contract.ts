// Contracts of the endpoints by which the console breaks the stack of `npm start`.
import { z } from 'zod'
import type { Contracts } from '../contracts/contract.ts'
import { noBody } from '../requests/body-fields.ts'
import { faultBody, killableProcesses, killBody, trafficBody } from './commands.ts'

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
