from ratings.models.correction import (
    CorrectedMatch,
    Correction,
    CorrectionKind,
    CorrectionReason,
)
from ratings.models.game import Game, GameState
from ratings.models.handle import DigestKey, ForgottenName, FormerHandle
from ratings.models.job import Job, JobKind, JobState
from ratings.models.match import Match, Participation, Reason, Status, Termination
from ratings.models.player import Bot, BotVersion, Difficulty, Player, PlayerAlias, PlayerStatus
from ratings.models.rating import PointsCount, Rating, System, TieSegment
from ratings.models.source import Source
from ratings.models.user import User
from ratings.models.verify_run import VerifyRun

__all__ = [
    "Bot",
    "BotVersion",
    "CorrectedMatch",
    "Correction",
    "CorrectionKind",
    "CorrectionReason",
    "Difficulty",
    "DigestKey",
    "ForgottenName",
    "FormerHandle",
    "Game",
    "GameState",
    "Job",
    "JobKind",
    "JobState",
    "Match",
    "Participation",
    "Player",
    "PlayerAlias",
    "PlayerStatus",
    "PointsCount",
    "Rating",
    "Reason",
    "Source",
    "Status",
    "System",
    "Termination",
    "TieSegment",
    "User",
    "VerifyRun",
]
