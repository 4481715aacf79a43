// Implements the control routes that both stand-ins have: their health, what they executed, and the
// rules that inject faults.
import { Router } from 'express'
import { z } from 'zod'
import { faultMatch, type FaultRule, type FaultRules } from './fault-rules.ts'

interface Parts<Name extends string> {
  readonly faultRules: Omit<FaultRules<Name>, 'pick'>
  readonly names: readonly Name[]
  readonly delayDefaultMs: (fault: Name) => number
  readonly listExecuted: () => readonly unknown[]
  /** Ends what the faults have left behind. */
  readonly release: () => void
}

export function createFaultRoutes<Name extends string>({
  faultRules,
  names,
  delayDefaultMs,
  listExecuted,
  release,
}: Parts<Name>): Router {
  const faultRule = z.strictObject({
    match: faultMatch.default({}),
    fault: z.enum(names),
    times: z.int().min(1).default(1),
    delay_ms: z.int().min(0).optional(),
  })
  const readRule = (body: unknown): FaultRule<Name> => {
    const rule = faultRule.parse(body)
    return { ...rule, delay_ms: rule.delay_ms ?? delayDefaultMs(rule.fault) }
  }
  return Router()
    .get('/health', (_req, res) => void res.json({ status: 'ok' }))
    .get('/executed', (_req, res) => void res.json({ data: listExecuted() }))
    .get('/faults', (_req, res) => void res.json({ data: faultRules.list() }))
    .post('/faults', (req, res) => void res.status(201).json(faultRules.add(readRule(req.body))))
    .delete('/faults', (_req, res) => {
      faultRules.clear()
      release()
      res.json({ data: [] })
    })
}
