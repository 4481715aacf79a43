// The corpus: all hand-picked requests that the service must refuse, each with its expected
// problem.
import type { Case } from '../draft.ts'
import { bodies } from './bodies.ts'
import { headers } from './headers.ts'
import { http } from './http.ts'
import { operators } from './operators.ts'
import { targets } from './targets.ts'
import { webhooks } from './webhooks.ts'

/** Those of `http` come first: some wait for a time limit, while all others run. */
export const corpus: readonly Case[] = [http, bodies, headers, targets, webhooks, operators].flat()
