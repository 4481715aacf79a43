// POST and DELETE /console/break/...: kill a process of `npm start`, inject faults into its stand-in, and
// make payments. For an operator who is logged in to the console, and audited.
import { z } from 'zod'
import { adminCommand } from '../admin/admin-commands.ts'
import type { AdminEndpoint, SessionEndpoint } from '../endpoint.ts'
import { noFields } from '../requests/body-fields.ts'
import { jsonType } from '../responses/answer.ts'
import { askLauncher } from './launcher.ts'

export const killableProcesses = ['worker', 'api', 'webhooks'] as const

export const killBody = z.strictObject({
  process: z.enum(killableProcesses).describe('The process that ends by SIGKILL.'),
})

const path = z.string().regex(/^\//).max(200)

export const faultBody = z.strictObject({
  fault: z
    .string()
    .regex(/^[a-z0-9_]{1,40}$/)
    .describe('The name of a fault of the stand-in: see docs/stripe-stand-in.md.'),
  match: z
    .strictObject({
      method: z.enum(['GET', 'POST']).optional(),
      path: path.optional().describe('`*` stands for any characters.'),
      payment_method: z.string().min(1).max(100).optional(),
      nth: z.int().min(1).max(1_000_000).optional(),
    })
    .default({})
    .describe('Which requests get the fault. By default all.'),
  times: z.int().min(1).max(1_000).default(1).describe('How many requests get it.'),
  delay_ms: z.int().min(0).max(600_000).optional(),
})

export const trafficBody = z.strictObject({
  payments_per_second: z.int().min(1).max(50),
  seconds: z.int().min(1).max(300),
})

export const payBody = z.strictObject({
  key: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .describe(
      'The idempotency key. The request is always the same otherwise, so that the same key repeats it.',
    ),
  payment_method: z
    .string()
    .regex(/^pm_[A-Za-z0-9_]{1,60}$/)
    .default('pm_card_visa')
    .describe('A payment method of the stand-in: see docs/stripe-stand-in.md.'),
  respond_async: z
    .boolean()
    .default(false)
    .describe('Whether the service answers at once. By default it waits 3 seconds for the result.'),
})

export const killProcess = inConsole(
  adminCommand({
    action: 'break.kill',
    body: killBody,
    work: async (parts, _tx, { body }) => ({
      details: body,
      answer: async () => {
        await askLauncher(parts, 'POST', '/kill', body)
        return answerOf(202, 'break_kill', body)
      },
    }),
  }),
)

export const injectFault = inConsole(
  adminCommand({
    action: 'break.fault',
    body: faultBody,
    work: async (parts, _tx, { body }) => ({
      details: body,
      answer: async () => {
        await askLauncher(parts, 'POST', '/faults', body)
        const { fault, times } = body
        return answerOf(201, 'break_fault', { fault, times })
      },
    }),
  }),
)

export const clearFaults = inConsole(
  adminCommand({
    action: 'break.clear_faults',
    body: noFields,
    work: async (parts) => ({
      details: {},
      answer: async () => {
        await askLauncher(parts, 'DELETE', '/faults')
        return answerOf(200, 'break_faults', { cleared: true })
      },
    }),
  }),
)

export const startTraffic = inConsole(
  adminCommand({
    action: 'break.traffic',
    body: trafficBody,
    work: async (parts, _tx, { body }) => ({
      details: body,
      answer: async () => {
        await askLauncher(parts, 'POST', '/traffic', body)
        return answerOf(202, 'break_traffic', body)
      },
    }),
  }),
)

export const stopTraffic = inConsole(
  adminCommand({
    action: 'break.stop_traffic',
    body: noFields,
    work: async (parts) => ({
      details: {},
      answer: async () => {
        await askLauncher(parts, 'DELETE', '/traffic')
        return answerOf(200, 'break_traffic_stop', { stopped: true })
      },
    }),
  }),
)

export const payOnce = inConsole(
  adminCommand({
    action: 'break.pay',
    body: payBody,
    work: async (parts, _tx, { body }) => ({
      details: body,
      answer: async () => {
        const { status, headers, body: text } = await askLauncher(parts, 'POST', '/pay', body)
        return answerOf(200, 'break_payment', { status, headers, body: text })
      },
    }),
  }),
)

/** A command for an operator with a session. */
function inConsole(command: AdminEndpoint): SessionEndpoint {
  return (parts, request, { operator }) => command(parts, request, operator.name)
}

function answerOf(status: number, object: string, members: Readonly<Record<string, unknown>>) {
  return { status, headers: jsonType, body: JSON.stringify({ object, ...members }) }
}
