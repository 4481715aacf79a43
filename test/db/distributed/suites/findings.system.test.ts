import './in-parts.ts'
import '../../../db/reconciliation/findings.test.ts'
